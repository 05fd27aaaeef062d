//! `cargo xtask load`: measures any broker with the tools of Countersign over plain MCP, so that two brokers can be
//! compared with the same load.

use super::{
    load_generator::{Connection, Measured, Target},
    sample_repository::new_file_diff,
    workload::{Work, live, next_number, work},
};
use std::{sync::Arc, time::Duration};

const HELP: &str = "\
cargo xtask load --url http://HOST:PORT/PATH [OPTIONS]

Lets clients create, claim, read, approve and close reviews over MCP, and prints calls per second and times. It writes to
the broker: use a test installation.

  --url URL            the MCP endpoint, for example http://127.0.0.1:8321/mcp
  --clients LIST       numbers of concurrent clients [default: 1,8,32]
  --seconds N          duration for each number of clients [default: 5]
  --diff-bytes N       send a diff of this size with each review; it adds one file, so it applies to any repository
                         [default: once without a diff and once with 5000]
  --token TOKEN        send this bearer token";

struct Options {
    target: Target,
    clients: Vec<usize>,
    time: Duration,
    /// Sizes of diffs; 0 means without a diff.
    diffs: Vec<usize>,
}

pub(crate) async fn run(words: &[String]) -> Result<(), String> {
    if words.is_empty() || words.iter().any(|word| word == "--help" || word == "-h") {
        println!("{HELP}");
        return Ok(());
    }
    let options = parse(words)?;
    let mut first = Connection::open_session(options.target.clone())
        .await
        .map_err(|error| format!("cannot use {}{}: {error}", options.target.host, options.target.path))?;
    println!("{:<24}{:>8}{:>12}{:>10}{:>10}{:>10}", "", "clients", "calls/s", "p50 ms", "p90 ms", "p99 ms");
    for bytes in options.diffs {
        let make = move |number| new_file_diff(number, bytes);
        // Another run of this program has the same numbers: the name of the file must differ.
        let start = usize::try_from(std::process::id()).unwrap_or(0) * 1_000_000;
        let diff: Option<super::workload::MakeDiff> =
            (bytes > 0).then(|| Arc::new(move |number| make(start + number)) as super::workload::MakeDiff);
        // A first review shows whether the broker has these tools, and ends with its own error if not.
        live(&mut first, "load-check", diff.as_ref().map(|make| make(next_number()))).await?;
        let name = if bytes == 0 { "no diff".to_owned() } else { format!("diff of {bytes} bytes") };
        for clients in &options.clients {
            let life = Work::Life { diff: diff.clone() };
            let (times, elapsed) = work(&options.target, *clients, options.time, &life, Duration::ZERO).await?;
            let measured = Measured::new(times, elapsed, Duration::ZERO);
            let rate = measured.per_second();
            let [p50, p90, p99] = [50, 90, 99].map(|percent| measured.percentile(percent));
            println!("{name:<24}{clients:>8}{rate:>12.0}{p50:>10.2}{p90:>10.2}{p99:>10.2}");
        }
    }
    Ok(())
}

fn parse(words: &[String]) -> Result<Options, String> {
    let (mut url, mut token) = (None, None);
    let (mut clients, mut time, mut diffs) = (vec![1, 8, 32], Duration::from_secs(5), vec![0, 5_000]);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value; --help lists the options"))?;
        let number = || value.parse::<usize>().map_err(|_| format!("{word}: {value:?} is not a number"));
        match word.as_str() {
            "--url" => url = Some(Target::parse(value)?),
            "--token" => token = Some(value.clone()),
            "--seconds" => time = Duration::from_secs(number()? as u64),
            "--diff-bytes" => diffs = vec![number()?],
            "--clients" => {
                let numbers = value.split(',').map(|one| one.trim().parse().ok().filter(|clients| *clients > 0));
                let numbers: Option<Vec<usize>> = numbers.collect();
                clients = numbers.ok_or_else(|| format!("--clients: {value:?}; expected numbers such as 1,8,32"))?;
            }
            unknown => return Err(format!("unknown option {unknown}; --help lists the options")),
        }
    }
    let target = url.ok_or("--url is missing; --help lists the options")?;
    Ok(Options { target: Target { token, ..target }, clients, time, diffs })
}
