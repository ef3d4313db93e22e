/*
 * Measures cases inside an Android app and reports them to devperf's collector (docs/wire.md).
 *
 * A single file without dependencies beyond the Java library, to be copied. Do not call it on the main thread. The app
 * needs the permission android.permission.INTERNET, and a network security configuration that allows HTTP to 127.0.0.1.
 *
 *     val parameters = Devperf.runParameters { intent.getStringExtra(it) }
 *     val run = Devperf.connect(parameters) ?: return   // not started by devperf
 *     run.bench("sort") { items.sorted() }
 *     run.bench("detect", load = { Detector(assets) }, dispose = { it.close() }) { it.detect(image) }
 *     run.end()
 */
package dev.devperf

import java.io.File
import java.io.IOException
import java.net.HttpURLConnection
import java.net.URL

/** The parameters of this run, which devperf passes when it starts the app. */
class RunParameters(val collector: String, val token: String, val run: String)

/** The collector refused a request; its message contains the reason and the next step. Retrying would not help. */
class Refused(message: String) : Exception(message)

/** What to run, and which cases are done already. */
class Task(
    val rounds: Int,
    val iterations: Int,
    val warmup: Int,
    val only: String?,
    val done: Set<String>,
    val begun: Set<String>
)

object Devperf {
    private const val SCHEMA = "pytest-devperf-wire/1"

    /** Attempts to connect: the tunnel to the workstation may be restored in the meantime. */
    private const val TRIES = 5
    private const val TIMEOUT_MS = 20_000

    /** Read the parameters from the intent's extras or the environment; null if devperf did not start the app. */
    fun runParameters(read: (String) -> String? = { System.getenv(it) }): RunParameters? {
        val collector = read("DEVPERF_COLLECTOR") ?: return null
        val token = read("DEVPERF_TOKEN") ?: return null
        val run = read("DEVPERF_RUN") ?: return null
        return RunParameters(collector, token, run)
    }

    /** Ask the collector for the task; null if devperf did not start the app. */
    fun connect(parameters: RunParameters? = runParameters()): DevperfRun? {
        if (parameters == null) return null
        val answer = request(parameters, "GET", "/v1/run", null) as Map<*, *>
        if (answer["schema"] != SCHEMA) {
            throw Refused("the collector speaks ${answer["schema"]}, this client $SCHEMA: copy a newer Devperf.kt")
        }
        val task = Task(
            rounds = (answer["rounds"] as Number).toInt(),
            iterations = (answer["iterations"] as Number).toInt(),
            warmup = (answer["warmup"] as Number).toInt(),
            only = answer["only"] as String?,
            done = (answer["done"] as List<*>).map { it as String }.toSet(),
            begun = (answer["begun"] as List<*>).map { it as String }.toSet()
        )
        return DevperfRun(parameters, task)
    }

    internal fun request(parameters: RunParameters, method: String, path: String, body: Any?): Any? {
        var tries = 1
        while (true) {
            try {
                return send(parameters, method, path, body)
            } catch (error: IOException) {
                // The collector ignores reports that it has already, so sending again is safe.
                if (tries == TRIES) throw error
                Thread.sleep(200L * tries)
                tries += 1
            }
        }
    }

    private fun send(parameters: RunParameters, method: String, path: String, body: Any?): Any? {
        val connection = URL(parameters.collector + path).openConnection() as HttpURLConnection
        try {
            connection.requestMethod = method
            connection.connectTimeout = TIMEOUT_MS
            connection.readTimeout = TIMEOUT_MS
            connection.setRequestProperty("Authorization", "Bearer " + parameters.token)
            if (body != null) {
                val data = Json.write(body).toByteArray(Charsets.UTF_8)
                connection.doOutput = true
                connection.setRequestProperty("Content-Type", "application/json")
                connection.setFixedLengthStreamingMode(data.size)
                connection.outputStream.use { it.write(data) }
            }
            val code = connection.responseCode
            val stream = if (code < 400) connection.inputStream else connection.errorStream
            val text = stream?.use { it.readBytes().toString(Charsets.UTF_8) } ?: "null"
            val answer = Json.read(text)
            if (code >= 400) {
                val why = (answer as? Map<*, *>)?.get("error") ?: code
                throw Refused("devperf's collector refused $method $path: $why")
            }
            return answer
        } finally {
            connection.disconnect()
        }
    }
}

/** One run of the app under devperf. */
class DevperfRun internal constructor(private val parameters: RunParameters, val task: Task) {
    private val reports = ArrayList<Map<String, Any?>>()
    private val tickNs = tick()

    /** Whether a case is requested and not done yet. */
    fun wanted(name: String): Boolean = name !in task.done && (task.only == null || task.only == name)

    /** Measure a case without a load and report it. */
    fun bench(name: String, facts: Map<String, Any?> = emptyMap(), work: () -> Any?) =
        measureAndReport<Unit>(name, facts, null, {}, { work() })

    /**
     * Measure a case and report it.
     *
     * @param load creates the workload; its time is the metric `load`, and its result is passed to the workload
     * @param dispose disposes of the workload
     * @param facts facts about the work: a different value next time makes the case incomparable
     */
    fun <T> bench(
        name: String,
        load: () -> T,
        dispose: (T) -> Unit = {},
        facts: Map<String, Any?> = emptyMap(),
        work: (T) -> Any?
    ) = measureAndReport(name, facts, load, dispose, work)

    /** Report a case that cannot run on this device. */
    fun skip(name: String, reason: String) {
        if (!wanted(name)) return
        report(mapOf("run" to parameters.run, "case" to name, "outcome" to "skipped", "reason" to reason))
    }

    /** Send all reports once more and end the run. */
    fun end(reason: String? = null) {
        val body = mapOf("run" to parameters.run, "cases" to reports, "reason" to reason)
        Devperf.request(parameters, "POST", "/v1/end", body)
    }

    private fun report(report: Map<String, Any?>) {
        reports.add(report)
        Devperf.request(parameters, "POST", "/v1/cases", report)
    }

    private fun <T> measureAndReport(
        name: String,
        facts: Map<String, Any?>,
        load: (() -> T)?,
        dispose: (T) -> Unit,
        work: (T) -> Any?
    ) {
        if (!wanted(name)) return
        val head = mapOf<String, Any?>("run" to parameters.run, "case" to name)
        if (name in task.begun) {
            report(head + mapOf("outcome" to "failed", "reason" to "the app died in this case when it ran before"))
            return
        }
        Devperf.request(parameters, "POST", "/v1/begin", head)
        val found: Map<String, Any?> = try {
            measure(facts, load, dispose, work)
        } catch (error: Exception) {
            mapOf("outcome" to "failed", "reason" to error.toString().take(2000))
        }
        report(head + found)
    }

    private fun <T> measure(
        facts: Map<String, Any?>,
        load: (() -> T)?,
        dispose: (T) -> Unit,
        work: (T) -> Any?
    ): Map<String, Any?> {
        val baseline = residentBytes()
        val begun = System.nanoTime()
        @Suppress("UNCHECKED_CAST")
        val loaded = if (load == null) Unit as T else load()
        val loadNs = if (load == null) null else maxOf(tickNs, System.nanoTime() - begun)
        val loadedBytes = residentBytes()
        for (count in 0 until task.warmup) once(work, loaded, 1)
        var loops = 1
        while (loops < MOST_LOOPS && once(work, loaded, loops) * loops < LEAST_TICKS * tickNs) loops *= 2
        var peak = maxOf(baseline ?: 0L, loadedBytes ?: 0L)
        val rounds = List(task.rounds) {
            val samples = DoubleArray(task.iterations) { once(work, loaded, loops) }
            peak = maxOf(peak, residentBytes() ?: 0L)
            samples.toList()
        }
        dispose(loaded)
        val memory = if (baseline == null) null else mapOf(
            "baseline" to baseline, "loaded" to loadedBytes, "peak" to peak, "disposed" to residentBytes()
        )
        return mapOf(
            "outcome" to "passed", "load_ns" to loadNs, "rounds_ns" to mapOf("latency" to rounds),
            "inner_loops" to loops, "memory" to memory, "facts" to facts
        )
    }

    /** Time one iteration in ns. The result is stored so that the compiler cannot remove the call. */
    private fun <T> once(work: (T) -> Any?, loaded: T, loops: Int): Double {
        val begun = System.nanoTime()
        for (count in 0 until loops) kept = work(loaded)
        return maxOf(tickNs, System.nanoTime() - begun).toDouble() / loops
    }

    companion object {
        /** Steps of the clock in the shortest sample: one step is then 1 % of it. */
        private const val LEAST_TICKS = 100L

        /** Most calls timed together. */
        private const val MOST_LOOPS = 1 shl 20

        @Volatile
        private var kept: Any? = null

        /** Measure the smallest step of the clock in ns. */
        private fun tick(): Long {
            var least = Long.MAX_VALUE
            for (count in 0 until 50) {
                val begun = System.nanoTime()
                var now = begun
                while (now == begun) now = System.nanoTime()
                least = minOf(least, now - begun)
            }
            return least
        }

        /** Read the resident memory of this process; null if the kernel does not report it. */
        private fun residentBytes(): Long? = try {
            val line = File("/proc/self/status").readLines().first { it.startsWith("VmRSS:") }
            line.filter { it.isDigit() }.toLong() * 1024
        } catch (error: IOException) {
            null
        } catch (error: NoSuchElementException) {
            null
        }
    }
}

/** The parts of JSON that the wire format needs; Android's org.json does not exist on a plain JVM. */
internal object Json {
    fun write(value: Any?): String = StringBuilder().also { put(it, value) }.toString()

    private fun put(out: StringBuilder, value: Any?) {
        when (value) {
            null, is Boolean, is Int, is Long -> out.append(value)
            is Number -> {
                require(!value.toDouble().isNaN() && !value.toDouble().isInfinite()) { "$value is no number in JSON" }
                out.append(value)
            }
            is Map<*, *> -> joined(out, '{', '}', value.entries) { entry ->
                quoted(out, entry.key.toString())
                out.append(':')
                put(out, entry.value)
            }
            is Iterable<*> -> joined(out, '[', ']', value) { put(out, it) }
            else -> quoted(out, value.toString())
        }
    }

    private fun <T> joined(out: StringBuilder, open: Char, close: Char, items: Iterable<T>, each: (T) -> Unit) {
        out.append(open)
        items.forEachIndexed { at, item ->
            if (at > 0) out.append(',')
            each(item)
        }
        out.append(close)
    }

    private fun quoted(out: StringBuilder, text: String) {
        out.append('"')
        for (character in text) {
            when {
                character == '"' || character == '\\' -> out.append('\\').append(character)
                character < ' ' || character.isSurrogate() -> out.append(String.format("\\u%04x", character - '\u0000'))
                else -> out.append(character)
            }
        }
        out.append('"')
    }

    fun read(text: String): Any? = Reader(text).value()

    private class Reader(private val text: String) {
        private var at = 0

        fun value(): Any? = when (next()) {
            '{' -> LinkedHashMap<String, Any?>().also { found ->
                items('}') {
                    val key = string()
                    expect(':')
                    found[key] = value()
                }
            }
            '[' -> ArrayList<Any?>().also { found -> items(']') { found.add(value()) } }
            '"' -> string()
            else -> word()
        }

        private fun next(): Char {
            while (at < text.length && text[at].isWhitespace()) at += 1
            if (at == text.length) throw IOException("the collector's answer is cut off")
            return text[at]
        }

        private fun expect(character: Char) {
            if (next() != character) throw IOException("the collector's answer is no JSON at character $at")
            at += 1
        }

        private fun items(close: Char, each: () -> Unit) {
            at += 1
            if (next() == close) {
                at += 1
                return
            }
            while (true) {
                each()
                if (next() == close) break
                expect(',')
                next()
            }
            at += 1
        }

        private fun string(): String {
            expect('"')
            val out = StringBuilder()
            while (text[at] != '"') {
                if (text[at] == '\\') at += 1 else {
                    out.append(text[at++])
                    continue
                }
                when (val escaped = text[at++]) {
                    'n' -> out.append('\n')
                    't' -> out.append('\t')
                    'r' -> out.append('\r')
                    'b' -> out.append('\b')
                    'f' -> out.append('\u000c')
                    'u' -> {
                        out.append(text.substring(at, at + 4).toInt(16).toChar())
                        at += 4
                    }
                    else -> out.append(escaped)
                }
            }
            at += 1
            return out.toString()
        }

        private fun word(): Any? {
            val begun = at
            while (at < text.length && text[at] !in ",]} \n\r\t") at += 1
            return when (val word = text.substring(begun, at)) {
                "true" -> true
                "false" -> false
                "null" -> null
                else -> word.toDoubleOrNull() ?: throw IOException("the collector's answer holds $word")
            }
        }
    }
}
