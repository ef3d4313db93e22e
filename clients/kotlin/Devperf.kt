/*
 * Measures cases inside an Android app and reports them to devperf's collector (docs/wire.md).
 *
 * One file without dependencies beyond the Java library: copy it. Call it off the main thread. The app needs the
 * permission android.permission.INTERNET, and may talk plainly to 127.0.0.1 (a network security configuration).
 *
 *     val run = Devperf.connect(Devperf.told { intent.getStringExtra(it) }) ?: return   // not started by devperf
 *     run.bench("sort") { items.sorted() }
 *     run.bench("detect", load = { Detector(assets) }, dispose = { it.close() }) { it.detect(image) }
 *     run.end()
 */
package dev.devperf

import java.io.File
import java.io.IOException
import java.net.HttpURLConnection
import java.net.URL

/** What the app was told when it was started. */
class Told(val collector: String, val token: String, val run: String)

/** The collector refused: its sentence says why and what to do; trying again would not help. */
class Refused(message: String) : Exception(message)

/** What the app is asked to do, and what of it is done already. */
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

    /** Tries of a connection that fails: the tunnel to the workstation may be set up anew meanwhile. */
    private const val TRIES = 5
    private const val TIMEOUT_MS = 20_000

    /** Read what the app was told, from its intent's extras or its environment; null where devperf did not start it. */
    fun told(read: (String) -> String? = { System.getenv(it) }): Told? {
        val collector = read("DEVPERF_COLLECTOR") ?: return null
        val token = read("DEVPERF_TOKEN") ?: return null
        val run = read("DEVPERF_RUN") ?: return null
        return Told(collector, token, run)
    }

    /** Ask the collector for the task; null where devperf did not start the app. */
    fun connect(told: Told? = told()): DevperfRun? {
        if (told == null) return null
        val answer = request(told, "GET", "/v1/run", null) as Map<*, *>
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
        return DevperfRun(told, task)
    }

    internal fun request(told: Told, method: String, path: String, body: Any?): Any? {
        var tries = 1
        while (true) {
            try {
                return send(told, method, path, body)
            } catch (error: IOException) {
                // The collector drops what it has already, so that sending again does no harm.
                if (tries == TRIES) throw error
                Thread.sleep(200L * tries)
                tries += 1
            }
        }
    }

    private fun send(told: Told, method: String, path: String, body: Any?): Any? {
        val connection = URL(told.collector + path).openConnection() as HttpURLConnection
        try {
            connection.requestMethod = method
            connection.connectTimeout = TIMEOUT_MS
            connection.readTimeout = TIMEOUT_MS
            connection.setRequestProperty("Authorization", "Bearer " + told.token)
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
class DevperfRun internal constructor(private val told: Told, val task: Task) {
    private val reports = ArrayList<Map<String, Any?>>()
    private val tickNs = tick()

    /** Whether a case is asked for and not done yet. */
    fun wanted(name: String): Boolean = name !in task.done && (task.only == null || task.only == name)

    /** Measure a case without a load and report it. */
    fun bench(name: String, facts: Map<String, Any?> = emptyMap(), work: () -> Any?) =
        measureAndReport<Unit>(name, facts, null, {}, { work() })

    /**
     * Measure a case and report it.
     *
     * @param load brings the workload up; its time is the metric `load`, its result is given to the workload
     * @param dispose takes the workload down
     * @param facts facts of the work done: another value next time makes the case incomparable
     */
    fun <T> bench(
        name: String,
        load: () -> T,
        dispose: (T) -> Unit = {},
        facts: Map<String, Any?> = emptyMap(),
        work: (T) -> Any?
    ) = measureAndReport(name, facts, load, dispose, work)

    /** Report a case that cannot run here. */
    fun skip(name: String, reason: String) {
        if (wanted(name)) report(mapOf("run" to told.run, "case" to name, "outcome" to "skipped", "reason" to reason))
    }

    /** Tell everything once more and end the run. */
    fun end(reason: String? = null) {
        Devperf.request(told, "POST", "/v1/end", mapOf("run" to told.run, "cases" to reports, "reason" to reason))
    }

    private fun report(report: Map<String, Any?>) {
        reports.add(report)
        Devperf.request(told, "POST", "/v1/cases", report)
    }

    private fun <T> measureAndReport(
        name: String,
        facts: Map<String, Any?>,
        load: (() -> T)?,
        dispose: (T) -> Unit,
        work: (T) -> Any?
    ) {
        if (!wanted(name)) return
        val head = mapOf<String, Any?>("run" to told.run, "case" to name)
        if (name in task.begun) {
            report(head + mapOf("outcome" to "failed", "reason" to "the app died in this case when it ran before"))
            return
        }
        Devperf.request(told, "POST", "/v1/begin", head)
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

    /** Time one iteration in ns. The result is kept where the compiler can't see that nobody reads it. */
    private fun <T> once(work: (T) -> Any?, loaded: T, loops: Int): Double {
        val begun = System.nanoTime()
        for (count in 0 until loops) kept = work(loaded)
        return maxOf(tickNs, System.nanoTime() - begun).toDouble() / loops
    }

    companion object {
        /** A sample lasts at least so many steps of the clock, so that a step is 1 % of it. */
        private const val LEAST_TICKS = 100L

        /** Calls timed together at most. */
        private const val MOST_LOOPS = 1 shl 20

        @Volatile
        private var kept: Any? = null

        /** Find the smallest step of the clock in ns. */
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

        /** Read the resident memory of this process; null where the kernel does not tell. */
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

/** As much JSON as the wire needs; Android's org.json is not on a plain JVM. */
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
