//! The command line: from flags and files to concrete layers and the controller.
//!
//! The only crate that prints or exits. It reads the environment through the facade. With `--json`, standard output is one
//! JSON document and nothing else. Progress goes to standard error.

mod args;
mod browser;
mod clients;
mod commands;
mod compose;
mod config;
mod confirm;
mod downloads;
#[cfg(feature = "remote")]
mod elsewhere;
mod engines;
mod exit;
mod explain;
mod exporting;
mod ground;
mod input;
mod interrupt;
mod kept;
mod new_file;
mod opening;
mod planner;
mod progress;
mod results;
mod simulated;
mod spoken;
mod suite;
mod text;
mod traffic;
mod wait_for;
mod watch;

use std::process::ExitCode;

use args::{Arguments, Command, PolicyCommand};
use exit::Exit;

fn main() -> ExitCode {
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(exit) => return exit,
    };
    progress::start_tracing(arguments.verbosity);
    without_core_dumps();
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            progress::say(&format!("error: the async runtime cannot start: {error}"));
            return ExitCode::from(exit::NO_BROWSER);
        }
    };
    let exit = runtime.block_on(run(arguments));
    // A blocking read of the terminal may still be waiting.
    runtime.shutdown_background();
    exit.into()
}

/// A core dump of this process, or of the browser that inherits the limit, would hold secrets.
#[cfg(unix)]
fn without_core_dumps() {
    use rustix::process::{Resource, Rlimit, setrlimit};

    let none = Rlimit { current: Some(0), maximum: Some(0) };
    if let Err(error) = setrlimit(Resource::Core, none) {
        progress::say(&format!("note: core dumps cannot be switched off: {error}"));
    }
}

#[cfg(not(unix))]
fn without_core_dumps() {}

async fn run(arguments: Arguments) -> Exit {
    let output = arguments.output;
    match arguments.command {
        Command::Run(command) => commands::run::run(*command, output).await,
        Command::Exec(command) => commands::exec::run(command, output).await,
        Command::Observe(command) => commands::observe::run(command, output).await,
        Command::Record(command) => commands::record::run(*command, output).await,
        Command::Check(command) => commands::check::run(&command, output),
        Command::Schema(command) => commands::schema::run(&command, output),
        Command::Policy(PolicyCommand::Explain(command)) => commands::policy::explain(&command, output),
        Command::Replay(command) => commands::replay::run(command, output).await,
        Command::Minimize(command) => commands::minimize::run(command, output).await,
        Command::Test(command) => commands::test::run(command, output).await,
        Command::Propose(command) => commands::propose::run(*command, output).await,
        Command::Eval(command) => commands::eval::run(*command, output).await,
        Command::Judge(command) => commands::judge::run(&command, output),
        Command::Film(command) => commands::film::run(&command, output),
        Command::Report(command) => commands::report::run(&command, output),
        Command::View(command) => commands::view::run(command, output).await,
        Command::Stats(command) => commands::stats::run(&command, output),
        Command::Alerts(command) => commands::alerts::run(*command, output).await,
        Command::Prune(command) => commands::prune::run(&command, output),
        #[cfg(feature = "suggest")]
        Command::Suggest(command) => commands::suggest::run(&command, output),
        #[cfg(not(feature = "suggest"))]
        Command::Suggest(command) => command.refused().print(output),
        Command::Export(command) => commands::export::run(&command, output).await,
        #[cfg(feature = "query")]
        Command::Query(command) => commands::query::run(command, output).await,
        #[cfg(not(feature = "query"))]
        Command::Query(command) => command.refused().print(output),
        Command::Start(command) => commands::session::start(*command, output).await,
        Command::Serve(command) => commands::session::serve_here(*command, output).await,
        Command::Sessions => commands::session::list(output),
        Command::Save(command) => commands::save::run(&command, output),
        Command::Detach(name) => commands::session::detach(&name, output).await,
        Command::DeleteData(command) => commands::prune::of_session(command, output),
        Command::Events(name) => commands::attached::events(&name, output).await,
        Command::Pause(name) => commands::attached::pause(&name, output).await,
        Command::Resume(name) => commands::attached::resume(&name, output).await,
        Command::Verb(command) => commands::session::call(*command, output).await,
        Command::Mcp(command) => commands::mcp::run(*command, output).await,
        Command::Doctor(command) => commands::doctor::run(command, output).await,
        Command::Config(command) => commands::config::run(&command, output),
        Command::Install(command) => commands::install::run(&command, output),
        Command::Skill => commands::skill::print(),
        Command::Completions(command) => commands::completions::print(&command),
        Command::Man(command) => commands::completions::write_manual(&command, output),
        Command::Site(command) => commands::site::run(command, output).await,
        Command::Bench(command) => commands::bench::run(command, output).await,
    }
}
