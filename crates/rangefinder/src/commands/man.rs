//! `rangefinder man`: the manual, a page for the program and one for each subcommand.

use std::io::Write;

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use run::Exit;
use run::rundir::write_named;

use crate::cli::{Cli, ManArguments};
use crate::print::print;

pub(crate) fn main(arguments: &ManArguments) -> Result<Exit> {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let Some(folder) = &arguments.out else {
        print(&String::from_utf8_lossy(&page(&program)?))?;
        return Ok(Exit::Complete);
    };
    std::fs::create_dir_all(folder).with_context(|| format!("cannot write `{}`", folder.display()))?;
    for command in std::iter::once(&program).chain(program.get_subcommands()) {
        let file = folder.join(Man::new(command.clone()).get_filename());
        let page = page(command)?;
        write_named(&file, |out| out.write_all(&page))
            .with_context(|| format!("cannot write `{}`", file.display()))?;
    }
    Ok(Exit::Complete)
}

fn page(command: &Command) -> Result<Vec<u8>> {
    let man = Man::new(command.clone()).manual("Rangefinder");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    after.split("\n\n").try_for_each(|paragraph| section(paragraph, &mut page))?;
    Ok(page)
}

/// A paragraph of what follows the options: a heading with lines that stay as they are, or text.
fn section(paragraph: &str, page: &mut dyn Write) -> Result<()> {
    let mut roff = Roff::new();
    match paragraph.split_once(":\n") {
        Some((heading, lines)) => {
            // `Exit codes, first that applies`
            let title = heading.split(',').next().unwrap_or(heading);
            roff.control("SH", [title.to_uppercase().as_str()]).control("nf", []);
            lines.lines().for_each(|line| _ = roff.text([roman(line)]));
            roff.control("fi", []);
        }
        None if paragraph.is_empty() => {}
        None => _ = roff.control("SH", ["NOTES"]).text([roman(paragraph)]),
    }
    Ok(roff.to_writer(page)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_for_every_command() {
        let mut program = Cli::command();
        program.build();
        let text = |command: &Command| String::from_utf8(page(command).unwrap()).unwrap();
        let all = text(&program);
        for exit in Exit::OURS {
            assert!(all.contains(&format!("{:>3}  {}", exit.code(), exit.meaning())), "{all}");
        }
        // One that is hidden is typed by nobody.
        let typed = |command: &&Command| command.get_name() != "help" && !command.is_hide_set();
        for command in program.get_subcommands().filter(typed) {
            let name = command.get_name();
            assert!(all.contains(&format!("rangefinder\\-{name}(1)")), "{name} is not in\n{all}");
            assert!(text(command).contains("\n.SH EXAMPLES\n"), "{name} has no examples");
        }
    }
}
