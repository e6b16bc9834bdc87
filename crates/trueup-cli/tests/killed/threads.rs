//! Faults at the system calls of each thread.
//!
//! strace counts the calls of each thread separately, and the thread that reaches a count first gets the fault. The
//! main thread loads the program, so it makes many calls before another thread starts, and reaches nearly every count
//! first if strace counts from the start of the program. Here the count begins where a thread is started: the program
//! stops there, and another strace is attached, which needs the right to trace any process.
//!
//! Which thread makes a call that several of them make, such as `fsync`, differs between runs. A fault at a position
//! that no thread reaches changes nothing, and the ingest must succeed.

use super::{CHANGING, IngestCase, check_failure, check_kill, count_by_thread, system_calls};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use trueup_testkit::exhaustive::{is_exhaustive, skip};

/// Waits until `get` returns something.
fn wait_for<T>(what: &str, get: impl Fn() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = get() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "waited for {what}");
        sleep(Duration::from_millis(2));
    }
}

fn send(signal: &str, process: u32) {
    assert!(Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
}

/// Returns the process that traces another one, or 0.
fn tracer(process: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix("TracerPid:")).unwrap().trim().parse().unwrap()
}

/// Begins the second ingest and stops it where a thread starts a thread for the `start`-th time.
fn stopped(case: &IngestCase, start: usize) -> Child {
    case.reset();
    let log = case.dir.path().join("stop-log");
    drop(fs::remove_file(&log));
    let mut strace = Command::new("strace");
    // strace runs next to the program (-D), and ends at a signal (-I 2) without killing it.
    strace.args(["-D", "-I", "2", "-f", "-qq", "-o"]).arg(&log).args(["-e", "trace=clone3", "-e"]);
    strace.arg(format!("inject=clone3:signal=STOP:when={start}")).arg(env!("CARGO_BIN_EXE_trueup"));
    let child = case.second(strace).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the program to stop", || {
        fs::read_to_string(&log).is_ok_and(|log| log.contains("--- stopped by SIGSTOP")).then_some(())
    });
    send("-TERM", tracer(child.id()));
    wait_for("strace to end", || (tracer(child.id()) == 0).then_some(()));
    child
}

/// Lets a stopped program run under another strace with the given arguments, to its end.
fn run_traced(child: Child, arguments: &[String]) -> Output {
    let process = child.id();
    let mut strace = Command::new("strace");
    strace.arg("-f").args(arguments).args(["-p", &process.to_string()]);
    let mut strace = strace.stderr(Stdio::piped()).spawn().unwrap();
    let mut messages = BufReader::new(strace.stderr.take().unwrap());
    let mut message = String::new();
    messages.read_line(&mut message).unwrap();
    assert!(message.contains(" attached"), "strace must be allowed to trace any process: {message}");
    send("-CONT", process);
    let output = child.wait_with_output().unwrap();
    // strace also reports each thread; it would stop if nobody read that.
    std::io::copy(&mut messages, &mut std::io::sink()).unwrap();
    strace.wait().unwrap();
    output
}

/// Returns whether strace may trace a process that it did not start.
fn may_attach() -> bool {
    let mut process = Command::new("sleep").arg("60").spawn().unwrap();
    let mut strace = Command::new("strace");
    strace.args(["-o", "/dev/null", "-p", &process.id().to_string()]);
    let mut strace = strace.stderr(Stdio::piped()).spawn().unwrap();
    let mut message = String::new();
    BufReader::new(strace.stderr.take().unwrap()).read_line(&mut message).unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    strace.wait().unwrap();
    message.contains(" attached")
}

#[test]
#[ignore = "needs strace"]
fn a_fault_in_any_thread_leaves_the_old_or_the_new_dataset() {
    if !may_attach() {
        skip("strace may not trace a process that it did not start");
        return;
    }
    let case = IngestCase::new();
    let starts = system_calls(&case)["clone3"];
    let (mut tried, mut kills, mut killed, mut failed, mut published) = (0, 0, 0, 0, 0);
    // By default, only changes after the first start, when the thread that writes the dataset begins, and after the
    // last.
    let sample = [1, starts];
    for start in (1..=starts).filter(|start| is_exhaustive() || sample.contains(start)) {
        let log = case.dir.path().join("log");
        let traced = run_traced(stopped(&case, start), &["-o".to_owned(), log.display().to_string()]);
        assert!(traced.status.success());
        for (call, count) in count_by_thread(&fs::read_to_string(&log).unwrap()) {
            let is_change = CHANGING.contains(&&*call);
            let faults: &[&str] = match (is_change, is_exhaustive()) {
                (true, true) => &["signal=KILL", "error=EIO", "error=ENOSPC", "error=EACCES", "error=EINTR"],
                (true, false) => &["signal=KILL", "error=EIO"],
                (false, true) => &["signal=KILL"],
                (false, false) => continue,
            };
            // Many `madvise` calls return memory when nothing else happens.
            let last = if call == "madvise" { count.min(5) } else { count };
            for (position, fault) in (1..=last).flat_map(|position| faults.iter().map(move |fault| (position, *fault)))
            {
                let arguments = [
                    "-o".to_owned(),
                    "/dev/null".to_owned(),
                    format!("-etrace={call}"),
                    format!("-einject={call}:{fault}:when={position}"),
                ];
                let output = run_traced(stopped(&case, start), &arguments);
                let (code, message) = (output.status.code(), String::from_utf8_lossy(&output.stderr));
                let what = format!("{fault} of {call} {position} after start {start}: {code:?}: {message}");
                tried += 1;
                if fault == "signal=KILL" {
                    kills += 1;
                    let is_killed = check_kill(&case, code, &what);
                    killed += usize::from(is_killed);
                    // After the first start no other thread runs until the count begins, so that the program makes
                    // each of these calls.
                    assert!(is_killed || !is_change || (start, position) != (1, 1), "{what}");
                } else {
                    failed += usize::from(check_failure(&case, &call, code, &message, &what));
                }
                published += usize::from(case.check(&what));
            }
        }
    }
    println!(
        "{tried} faults after {starts} starts: {killed} of {kills} killed, {failed} failed, {published} published"
    );
    assert!(killed > 10 && killed * 2 > kills, "{killed} of {kills} killed");
    assert!(failed > 5 && (1..tried).contains(&published), "{failed} failed, {published} published");
}
