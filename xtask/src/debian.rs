//! Debian packages, downloaded and unpacked into a folder of ours: no root, and
//! the machine's own package lists stay untouched.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell::{quietly, tools_folder};

/// One package. Those of the vendor are pinned; a library of the system is
/// whatever its suite offers, checked by apt against the archive's signature.
#[derive(Debug, Clone, Copy)]
pub struct Package {
    pub name: &'static str,
    pub pinned: Option<Pinned>,
}

#[derive(Debug, Clone, Copy)]
pub struct Pinned {
    pub version: &'static str,
    pub sha256: &'static str,
}

pub const fn pinned(name: &'static str, version: &'static str, sha256: &'static str) -> Package {
    Package { name, pinned: Some(Pinned { version, sha256 }) }
}

pub const fn any(name: &'static str) -> Package {
    Package { name, pinned: None }
}

impl Package {
    /// As apt is asked for it.
    fn wanted(&self) -> String {
        match self.pinned {
            Some(pinned) => format!("{}={}", self.name, pinned.version),
            None => self.name.to_owned(),
        }
    }

    fn check(&self, file: &Path) -> Result<()> {
        let Some(pinned) = self.pinned else { return Ok(()) };
        let sum = quietly(Command::new("sha256sum").arg(file))?;
        if !sum.starts_with(pinned.sha256) {
            fs_err::remove_file(file)?;
            bail!(
                "`{}` has the wrong SHA-256: {}",
                file.display(),
                sum.split(' ').next().unwrap_or_default()
            );
        }
        Ok(())
    }
}

/// Unpacks `packages` of `suite` into `folder`, all or nothing.
pub fn unpack(suite: &str, packages: &[Package], folder: &Path) -> Result<()> {
    let apt = Apt::of(suite)?;
    let debs = tools_folder().join("debs");
    fs_err::create_dir_all(&debs)?;
    let fresh = folder.with_extension("unpacking");
    if fresh.exists() {
        fs_err::remove_dir_all(&fresh)?;
    }
    fs_err::create_dir_all(&fresh)?;
    let files = apt.download(packages, &debs).or_else(|_| {
        // The archive may have moved on since its lists were fetched.
        apt.update()?;
        apt.download(packages, &debs)
    })?;
    for deb in files {
        quietly(Command::new("dpkg").arg("-x").arg(&deb).arg(&fresh))?;
        // The unpacked tree is what is kept.
        fs_err::remove_file(&deb)?;
    }
    if folder.exists() {
        fs_err::remove_dir_all(folder)?;
    }
    fs_err::rename(&fresh, folder)?;
    Ok(())
}

/// apt with lists and caches of its own for one suite.
struct Apt {
    options: Vec<String>,
}

impl Apt {
    fn of(suite: &str) -> Result<Self> {
        let folder = tools_folder().join("apt").join(suite);
        for part in ["lists/partial", "cache/archives/partial"] {
            fs_err::create_dir_all(folder.join(part))?;
        }
        let source = Source::of_this_machine()?;
        let keyring = source.keyring.map(|path| format!(" [signed-by={path}]")).unwrap_or_default();
        let list = folder.join("sources.list");
        fs_err::write(&list, format!("deb{keyring} {} {suite} main non-free\n", source.address))?;
        let user = quietly(Command::new("id").arg("-un"))?;
        let options = vec![
            format!("Dir::Etc::sourcelist={}", list.display()),
            "Dir::Etc::sourceparts=-".to_owned(),
            format!("Dir::State::lists={}", folder.join("lists").display()),
            // Installed packages, perhaps newer than the suite, are not candidates.
            "Dir::State::status=/dev/null".to_owned(),
            format!("Dir::Cache={}", folder.join("cache").display()),
            format!("APT::Sandbox::User={}", user.trim()),
            "Acquire::Languages=none".to_owned(),
            "Acquire::Retries=3".to_owned(),
            "APT::Update::Error-Mode=any".to_owned(),
        ];
        let apt = Self { options };
        let updated = folder.join("updated");
        if !updated.exists() {
            apt.update()?;
            fs_err::write(updated, "")?;
        }
        Ok(apt)
    }

    fn update(&self) -> Result<()> {
        quietly(self.command("apt-get").arg("update")).context("cannot fetch the package lists")?;
        Ok(())
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        for option in &self.options {
            command.args(["-o", option]);
        }
        command
    }

    /// All of them at once: apt takes longer to start than to fetch a small one.
    fn download(&self, packages: &[Package], into: &Path) -> Result<Vec<PathBuf>> {
        let wanted: Vec<String> = packages.iter().map(Package::wanted).collect();
        let uris = quietly(self.command("apt-get").args(["download", "--print-uris"]).args(&wanted))?;
        // 'ADDRESS' NAME_VERSION_ARCHITECTURE.deb SIZE HASH
        let files: Vec<&str> = uris.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
        quietly(self.command("apt-get").arg("download").args(&wanted).current_dir(into))?;
        let path_of = |package: &Package| {
            let of_package = |file: &&&str| file.split('_').next() == Some(package.name);
            let file = files.iter().find(of_package);
            let path = into.join(file.with_context(|| format!("apt does not know `{}`", package.wanted()))?);
            package.check(&path)?;
            Ok(path)
        };
        packages.iter().map(path_of).collect()
    }
}

/// Where this machine gets its Debian packages from.
#[derive(Debug, PartialEq, Eq)]
struct Source {
    address: String,
    keyring: Option<String>,
}

impl Source {
    fn of_this_machine() -> Result<Self> {
        if let Ok(address) = std::env::var("RANGEFINDER_DEBIAN_MIRROR") {
            return Ok(Self { address, keyring: std::env::var("RANGEFINDER_DEBIAN_KEYRING").ok() });
        }
        let system = fs_err::read_to_string("/etc/os-release").unwrap_or_default();
        if !system.lines().any(|line| line == "ID=debian") {
            bail!(
                "this machine's package archive is not Debian's\n\
                 hint: name a Debian mirror with RANGEFINDER_DEBIAN_MIRROR and its keyring with \
                 RANGEFINDER_DEBIAN_KEYRING"
            );
        }
        let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
        let parts = std::fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten();
        files.extend(parts.map(|entry| entry.path()));
        files.sort();
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let source = match file.extension().and_then(|extension| extension.to_str()) {
                Some("sources") => Self::from_stanzas(&text),
                Some("list") => Self::from_lines(&text),
                _ => None,
            };
            if let Some(source) = source {
                return Ok(source);
            }
        }
        bail!("no Debian archive is configured for apt on this machine")
    }

    /// `Types: deb`, `URIs: …`, one stanza an archive.
    fn from_stanzas(text: &str) -> Option<Self> {
        text.split("\n\n").find_map(|stanza| {
            let field = |name: &str| stanza.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
            if !is_main_archive(field("Suites:")?, field("Components:")?) {
                return None;
            }
            let keyring = field("Signed-By:").filter(|path| path.starts_with('/'));
            Some(Self {
                address: field("URIs:")?.split_whitespace().next()?.to_owned(),
                keyring: keyring.map(str::to_owned),
            })
        })
    }

    /// `deb [signed-by=…] ADDRESS SUITE COMPONENTS…`
    fn from_lines(text: &str) -> Option<Self> {
        text.lines().find_map(|line| {
            let rest = line.trim().strip_prefix("deb ")?.trim();
            let (options, rest) = match rest.strip_prefix('[') {
                Some(rest) => rest.split_once(']')?,
                None => ("", rest),
            };
            let mut words = rest.split_whitespace();
            let (address, suite) = (words.next()?, words.next()?);
            let components: Vec<&str> = words.collect();
            let keyring = options.split_whitespace().find_map(|option| option.strip_prefix("signed-by="));
            is_main_archive(suite, &components.join(" "))
                .then(|| Self { address: address.to_owned(), keyring: keyring.map(str::to_owned) })
        })
    }
}

/// Not the security or updates archive, whose suites have a dash in their names.
fn is_main_archive(suites: &str, components: &str) -> bool {
    let mut suites = suites.split_whitespace();
    suites.any(|suite| !suite.contains(['-', '/']))
        && components.split_whitespace().any(|component| component == "main")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_in_both_forms() {
        let expected =
            Some(Source { address: "http://a/debian".to_owned(), keyring: Some("/k.gpg".to_owned()) });
        let stanzas = "Types: deb\nURIs: http://s/debian\nSuites: x-security\nComponents: main\n\n\
                       Types: deb\n# c\nURIs: http://a/debian\nSuites: x x-updates\nComponents: \
                       main\nSigned-By: /k.gpg\n";
        assert_eq!(Source::from_stanzas(stanzas), expected);
        let lines = "# c\ndeb http://s/debian x-security main\ndeb [arch=amd64 signed-by=/k.gpg] \
        http://a/debian x main contrib\n";
        assert_eq!(Source::from_lines(lines), expected);
        assert_eq!(Source::from_lines("deb http://a/ x tools\n"), None);
    }
}
