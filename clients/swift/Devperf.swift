// Measures cases inside an app and reports them to devperf's collector (docs/wire.md).
//
// A single file without dependencies beyond Foundation, to be copied. Do not call it on the main actor. An iPhone
// reaches the workstation over the local network: the app needs NSLocalNetworkUsageDescription and, since the collector
// uses plain HTTP, NSAllowsLocalNetworking.
//
//     guard let run = try await DevperfRun.connect() else { return }     // not started by devperf
//     try await run.bench("sort") { items.sorted() }
//     try await run.bench("detect", load: { try Detector() }) { try $0.detect(image) }
//     try await run.end()

import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#endif

/// The parameters of this run, which devperf passes when it starts the app.
public struct RunParameters: Sendable {
    public let collector: String
    public let token: String
    public let run: String

    /// Read the parameters from the environment; nil if devperf did not start the app.
    public init?(environment: [String: String] = ProcessInfo.processInfo.environment) {
        guard let collector = environment["DEVPERF_COLLECTOR"], let token = environment["DEVPERF_TOKEN"],
            let run = environment["DEVPERF_RUN"]
        else { return nil }
        self.collector = collector
        self.token = token
        self.run = run
    }
}

/// What to run, and which cases are done already.
public struct Asked: Decodable, Sendable {
    public let schema: String
    public let rounds: Int
    public let iterations: Int
    public let warmup: Int
    public let only: String?
    public let done: Set<String>
    public let begun: Set<String>
}

/// A fact about the work.
public enum Fact: Encodable, Sendable {
    case text(String)
    case number(Double)
    case flag(Bool)

    public func encode(to encoder: Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .flag(let value): try container.encode(value)
        }
    }
}

/// Sizes in bytes.
public struct Memory: Encodable, Sendable {
    public var baseline: UInt64
    public var loaded: UInt64?
    public var peak: UInt64
    public var disposed: UInt64?
}

public struct CaseReport: Encodable, Sendable {
    public let run: String
    public let `case`: String
    public var outcome = "passed"
    public var reason: String?
    public var load_ns: Double?
    public var rounds_ns: [String: [[Double]]] = [:]
    public var inner_loops = 1
    public var memory: Memory?
    public var facts: [String: Fact] = [:]
}

/// The collector refused a request; its message contains the reason and the next step. Retrying would not help.
public struct Refused: Error, CustomStringConvertible {
    public let description: String
}

/// One run of the app under devperf.
public final class DevperfRun {
    static let schema = "pytest-devperf-wire/1"

    /// Steps of the clock in the shortest sample: one step is then 1 % of it.
    static let leastTicks = 100.0

    /// Most calls timed together.
    static let mostLoops = 1 << 20

    /// Attempts to connect: the phone may be changing networks.
    static let tries = 5

    public let task: Asked
    private let parameters: RunParameters
    private let tickNs: Double
    private var reports: [CaseReport] = []

    private init(parameters: RunParameters, task: Asked) {
        self.parameters = parameters
        self.task = task
        self.tickNs = DevperfRun.tick()
    }

    /// Ask the collector for the task; nil if devperf did not start the app.
    public static func connect(_ parameters: RunParameters? = RunParameters()) async throws -> DevperfRun? {
        guard let parameters = parameters else { return nil }
        let data = try await request(parameters, "GET", "/v1/run", nil)
        let task = try JSONDecoder().decode(Asked.self, from: data)
        guard task.schema == schema else {
            throw Refused(
                description: "the collector speaks \(task.schema), this client \(schema): copy a newer Devperf.swift")
        }
        return DevperfRun(parameters: parameters, task: task)
    }

    /// Whether a case is requested and not done yet.
    public func wanted(_ name: String) -> Bool {
        !task.done.contains(name) && (task.only == nil || task.only == name)
    }

    /// Measure a case without a load and report it.
    public func bench<R>(_ name: String, facts: [String: Fact] = [:], _ work: () throws -> R) async throws {
        try await measureAndReport(name, facts: facts, load: nil as (() throws -> Void)?) { _ in try work() }
    }

    /// Measure a case and report it; the time of `load` is the metric `load`, and its result is passed to the workload.
    public func bench<T, R>(
        _ name: String, facts: [String: Fact] = [:], load: @escaping () throws -> T, _ work: (T) throws -> R
    ) async throws {
        try await measureAndReport(name, facts: facts, load: load, work)
    }

    /// Report a case that cannot run on this device.
    public func skip(_ name: String, reason: String) async throws {
        guard wanted(name) else { return }
        try await report(CaseReport(run: parameters.run, case: name, outcome: "skipped", reason: reason))
    }

    /// Send all reports once more and end the run.
    public func end(reason: String? = nil) async throws {
        struct Final: Encodable {
            let run: String
            let cases: [CaseReport]
            let reason: String?
        }
        _ = try await DevperfRun.request(
            parameters, "POST", "/v1/end",
            JSONEncoder().encode(Final(run: parameters.run, cases: reports, reason: reason)))
    }

    private func report(_ report: CaseReport) async throws {
        reports.append(report)
        _ = try await DevperfRun.request(parameters, "POST", "/v1/cases", JSONEncoder().encode(report))
    }

    private func measureAndReport<T, R>(
        _ name: String, facts: [String: Fact], load: (() throws -> T)?, _ work: (T) throws -> R
    ) async throws {
        guard wanted(name) else { return }
        if task.begun.contains(name) {
            return try await report(
                CaseReport(
                    run: parameters.run, case: name, outcome: "failed",
                    reason: "the app died in this case when it ran before"))
        }
        let begun = ["run": parameters.run, "case": name]
        _ = try await DevperfRun.request(parameters, "POST", "/v1/begin", JSONEncoder().encode(begun))
        var found = CaseReport(run: parameters.run, case: name, facts: facts)
        do {
            try measure(into: &found, load: load, work)
        } catch {
            found = CaseReport(
                run: parameters.run, case: name, outcome: "failed",
                reason: String(String(describing: error).prefix(2000)))
        }
        try await report(found)
    }

    /// Measure without suspending, so that no other task of the app runs on this thread in the meantime.
    private func measure<T, R>(
        into report: inout CaseReport, load: (() throws -> T)?, _ work: (T) throws -> R
    ) throws {
        let baseline = DevperfRun.residentBytes()
        let begun = DevperfRun.nowNs()
        // Without a load, T is Void.
        let loaded = try load?() ?? (() as! T)
        if load != nil { report.load_ns = max(tickNs, Double(DevperfRun.nowNs() - begun)) }
        let loadedBytes = DevperfRun.residentBytes()
        var peak = max(baseline ?? 0, loadedBytes ?? 0)
        for _ in 0..<task.warmup { _ = try once(work, loaded, loops: 1) }
        var loops = 1
        while loops < DevperfRun.mostLoops,
            try once(work, loaded, loops: loops) * Double(loops) < DevperfRun.leastTicks * tickNs
        { loops *= 2 }
        var rounds: [[Double]] = []
        for _ in 0..<task.rounds {
            rounds.append(try (0..<task.iterations).map { _ in try once(work, loaded, loops: loops) })
            peak = max(peak, DevperfRun.residentBytes() ?? 0)
        }
        report.rounds_ns = ["latency": rounds]
        report.inner_loops = loops
        if let baseline = baseline {
            report.memory = Memory(baseline: baseline, loaded: loadedBytes, peak: peak, disposed: nil)
        }
    }

    /// Time one iteration in ns. The result is stored so that the compiler cannot remove the call.
    private func once<T, R>(_ work: (T) throws -> R, _ loaded: T, loops: Int) rethrows -> Double {
        let begun = DevperfRun.nowNs()
        for _ in 0..<loops { keep(try work(loaded)) }
        return max(tickNs, Double(DevperfRun.nowNs() - begun)) / Double(loops)
    }

    @inline(never)
    private func keep<R>(_ result: R) {}

    private static func nowNs() -> UInt64 {
        #if canImport(Darwin)
        return clock_gettime_nsec_np(CLOCK_UPTIME_RAW)
        #else
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
        #endif
    }

    /// Measure the smallest step of the clock in ns.
    private static func tick() -> Double {
        var least = UInt64.max
        for _ in 0..<50 {
            let begun = nowNs()
            var now = begun
            while now == begun { now = nowNs() }
            least = min(least, now - begun)
        }
        return Double(least)
    }

    /// Read the footprint of this process, which iOS limits; nil if it cannot be read.
    private static func residentBytes() -> UInt64? {
        #if canImport(Darwin)
        var info = task_vm_info_data_t()
        var count = mach_msg_type_number_t(MemoryLayout<task_vm_info_data_t>.size / MemoryLayout<natural_t>.size)
        let answer = withUnsafeMutablePointer(to: &info) {
            $0.withMemoryRebound(to: integer_t.self, capacity: Int(count)) {
                task_info(mach_task_self_, task_flavor_t(TASK_VM_INFO), $0, &count)
            }
        }
        return answer == KERN_SUCCESS ? info.phys_footprint : nil
        #else
        return nil
        #endif
    }

    private static func request(
        _ parameters: RunParameters, _ method: String, _ path: String, _ body: Data?
    ) async throws -> Data {
        guard let url = URL(string: parameters.collector + path) else {
            throw Refused(description: "DEVPERF_COLLECTOR is not an address: \(parameters.collector)")
        }
        var request = URLRequest(url: url, timeoutInterval: 20)
        request.httpMethod = method
        request.httpBody = body
        request.setValue("Bearer \(parameters.token)", forHTTPHeaderField: "Authorization")
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        var tried = 1
        while true {
            do {
                let (data, response) = try await URLSession.shared.data(for: request)
                let code = (response as? HTTPURLResponse)?.statusCode ?? 0
                guard code < 400 else {
                    let why = (try? JSONDecoder().decode([String: String].self, from: data))?["error"] ?? "\(code)"
                    throw Refused(description: "devperf's collector refused \(method) \(path): \(why)")
                }
                return data
            } catch let error as URLError {
                // The collector ignores reports that it has already, so sending again is safe.
                if tried == tries { throw error }
                try await Task.sleep(nanoseconds: UInt64(200_000_000 * tried))
                tried += 1
            }
        }
    }
}
