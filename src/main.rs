use std::process::ExitCode;

/// A broker's work is many small, short-lived pieces on several threads; glibc's allocator took a tenth
/// of its time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    countersign::cli::main()
}
