//! Forms of secrets, and a search for them in every byte that a run leaves.

use std::io::Read;
use std::path::{Path, PathBuf};

use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine as _, alphabet};

const FORMS: &str = include_str!("../data/secret-forms.tsv");
const HARMLESS: &str = include_str!("../data/harmless-forms.txt");

/// A text with a secret in it.
pub struct Form {
    pub text: String,
    pub secret: String,
}

pub fn forms() -> Vec<Form> {
    let read = |line: &str| {
        let marked = line.split_once('\t').unwrap().1.replace("\\n", "\n");
        let secret = marked.split_once('«').unwrap().1.split_once('»').unwrap().0.to_owned();
        Form { text: marked.replace(['«', '»'], ""), secret }
    };
    FORMS.lines().map(read).collect()
}

pub fn harmless() -> Vec<&'static str> {
    HARMLESS.lines().collect()
}

/// Every secret that is found below `folder`, with the file it is in. Reports of the vendors
/// are documented to hold some.
pub fn leaks(folder: &Path, forms: &[Form]) -> Vec<String> {
    leaks_since(folder, forms, std::time::SystemTime::UNIX_EPOCH)
}

/// The same in files that were changed since then.
pub fn leaks_since(folder: &Path, forms: &[Form], since: std::time::SystemTime) -> Vec<String> {
    let raw = [".nsys-rep", ".qdstrm", ".ncu-rep"];
    let mut found = Vec::new();
    for path in files(folder) {
        let name = path.to_string_lossy().into_owned();
        let is_old = path.metadata().is_ok_and(|file| file.modified().unwrap() < since);
        if is_old || raw.iter().any(|ending| name.ends_with(ending)) {
            continue;
        }
        let mut contents = vec![name.clone().into_bytes()];
        // In a folder of everyone's a file may come and go.
        let Ok(bytes) = std::fs::read(&path) else { continue };
        contents.extend(unpacked(&bytes));
        contents.push(bytes);
        for form in forms {
            if contents.iter().any(|bytes| holds(bytes, form)) {
                found.push(format!("{name}: {}", form.secret));
            }
        }
    }
    found
}

/// In the words of the program, or as JSON or HTML write them.
fn holds(bytes: &[u8], form: &Form) -> bool {
    let json = serde_json::Value::from(form.secret.as_str()).to_string();
    let html = form.secret.replace('&', "&amp;").replace('"', "&quot;").replace('\'', "&#39;");
    let spellings = [&form.secret, &json[1..json.len() - 1], &html];
    spellings.iter().any(|spelling| memchr::memmem::find(bytes, spelling.as_bytes()).is_some())
}

pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files(&entry.path()));
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    found
}

/// What lies compressed in a file, or in Base64 inside of it.
fn unpacked(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut found: Vec<Vec<u8>> = gunzipped(bytes).into_iter().collect();
    let in_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    for run in bytes.split(|byte| !in_base64(byte)).filter(|run| run.len() >= 64) {
        let decoded = from_base64(run);
        found.extend(gunzipped(&decoded));
        found.push(decoded);
    }
    found
}

fn gunzipped(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    let is_gzip = bytes.starts_with(&[0x1f, 0x8b]);
    is_gzip.then(|| flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut plain).ok())??;
    Some(plain)
}

/// As much of it as can be decoded: what looks like Base64 may be cut anywhere.
fn from_base64(text: &[u8]) -> Vec<u8> {
    let lenient = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let text = text.split(|byte| *byte == b'=').next().unwrap_or_default();
    let whole = text.len() - usize::from(text.len() % 4 == 1);
    GeneralPurpose::new(&alphabet::STANDARD, lenient).decode(&text[..whole]).unwrap()
}

/// Processes that have this in their environment or argv.
pub fn processes_with(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        for part in ["cmdline", "environ"] {
            let bytes = std::fs::read(entry.path().join(part)).unwrap_or_default();
            if memchr::memmem::find(&bytes, text.as_bytes()).is_some() {
                found.push(format!("{}/{part}", entry.path().display()));
            }
        }
    }
    found
}
