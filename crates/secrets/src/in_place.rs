//! Secrets in files that others wrote: marked where they lie, so that a file stays what it is.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use input::Input;

use super::redactor::Redactor;
use super::stream::{Masking, StreamScrubber};
use super::writer::MaskingWriter;

/// A trace of ours: its names and domains, and what the header says of the process.
fn mark_trace(path: &Path, redactor: &Redactor) -> io::Result<()> {
    // Of a file that is no trace, known values are marked all the same.
    let texts =
        trace::tracer_texts_to_change(path, |text| redactor.marked(text)).map_err(io::Error::other)?;
    let file = open(path)?;
    for (at, text) in texts {
        file.write_all_at(&text, at)?;
    }
    mark_known(path, redactor)
}

/// The traces of ours in a folder.
pub fn mark_traces(folder: &Path, redactor: &Redactor) -> io::Result<()> {
    for entry in fs_err::read_dir(folder)?.flatten() {
        let path = entry.path();
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && path.extension().is_some_and(|extension| extension == "rft") {
            mark_trace(&path, redactor)?;
        }
    }
    Ok(())
}

/// An SQLite export of nsys: every text, and the values of all environment variables.
pub fn mark_export(path: &Path, redactor: &Redactor) -> io::Result<()> {
    let environment = trace::environment_values(path).map_err(io::Error::other)?;
    let texts = trace::texts_to_change(path, |text| redactor.marked(text)).map_err(io::Error::other)?;
    let file = open(path)?;
    for (at, text) in texts {
        file.write_all_at(&text, at)?;
    }
    // Also where no row is any more.
    mark_known(path, redactor)?;
    overwrite(&file, &environment)
}

/// A Chrome trace, plain or gzipped: rewritten if there is anything to mask.
pub fn mark_chrome_trace(path: &Path, redactor: &Redactor) -> io::Result<()> {
    let mut scrubber = StreamScrubber::new(redactor.clone(), Masking::Marks);
    let (mut source, is_gzip) = text_of(path)?;
    let mut buffer = vec![0; 256 << 10];
    loop {
        match source.read(&mut buffer)? {
            0 => break,
            read => scrubber.write(&buffer[..read], &mut io::sink())?,
        }
    }
    scrubber.finish(&mut io::sink())?;
    if scrubber.masked() == 0 {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".writing-").tempfile_in(folder)?;
    let plain: Box<dyn Write> = match is_gzip {
        true => Box::new(flate2::write::GzEncoder::new(file.as_file_mut(), flate2::Compression::fast())),
        false => Box::new(io::BufWriter::new(file.as_file_mut())),
    };
    let mut masking = MaskingWriter::new(plain, redactor, Masking::Marks);
    io::copy(&mut text_of(path)?.0, &mut masking)?;
    // The encoder writes its end when it goes.
    drop(masking.finish()?);
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn text_of(path: &Path) -> io::Result<(Box<dyn Read>, bool)> {
    let mut start = [0; 2];
    let is_gzip = File::open(path)?.read_exact(&mut start).is_ok() && start == [0x1f, 0x8b];
    let file = io::BufReader::new(File::open(path)?);
    Ok(match is_gzip {
        true => (Box::new(flate2::read::MultiGzDecoder::new(file)), true),
        false => (Box::new(file), false),
    })
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

/// Stars in place of these bytes.
fn overwrite(file: &File, ranges: &[Range<u64>]) -> io::Result<()> {
    for range in ranges {
        let length = usize::try_from(range.end - range.start).unwrap_or(0);
        file.write_all_at(&vec![b'*'; length], range.start)?;
    }
    Ok(())
}

/// Marks every known value, wherever it lies.
fn mark_known(path: &Path, redactor: &Redactor) -> io::Result<()> {
    const WINDOW: usize = 8 << 20;
    let longest = redactor.longest_known();
    if longest == 0 {
        return Ok(());
    }
    let input = Input::open(path).map_err(io::Error::other)?;
    let file = open(path)?;
    let length = input.length();
    let mut buffer = vec![0; WINDOW + longest];
    let mut next = input.data_from(0);
    // No secret lies in a hole.
    while let Some(at) = next {
        // Windows overlap by as much as a secret is long.
        let wanted = buffer.len().min(usize::try_from(length - at).unwrap_or(usize::MAX));
        file.read_exact_at(&mut buffer[..wanted], at)?;
        for span in redactor.known_spans(&buffer[..wanted]) {
            file.write_all_at(&redactor.mark(&buffer[span.clone()]), at + span.start as u64)?;
        }
        next = input.data_from(at + WINDOW as u64);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor() -> Redactor {
        Redactor::new([("MY_TOKEN", "hunter")].into_iter(), &[])
    }

    #[test]
    fn known_values_are_marked_wherever_they_lie() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut bytes = vec![b'.'; 9 << 20];
        let places = [0, (8 << 20) - 3, (9 << 20) - 6];
        for place in places {
            bytes[place..place + 6].copy_from_slice(b"hunter");
        }
        std::fs::write(file.path(), &bytes).unwrap();
        mark_known(file.path(), &redactor()).unwrap();
        let masked = std::fs::read(file.path()).unwrap();
        assert_eq!(masked.len(), bytes.len());
        assert_eq!(masked.iter().filter(|byte| **byte == b'*').count(), 9);
        assert!(places.iter().all(|place| masked[*place..].starts_with(b"***")));
    }

    #[test]
    fn a_chrome_trace_stays_one() {
        use std::io::Write as _;
        let file = tempfile::NamedTempFile::with_suffix(".json.gz").unwrap();
        let text = r#"{"traceEvents": [{"name": "step hunter", "args": {"password": 123456}}]}"#;
        let mut encoder = flate2::write::GzEncoder::new(file.as_file(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap();
        mark_chrome_trace(file.path(), &redactor()).unwrap();
        let mut masked = String::new();
        text_of(file.path()).unwrap().0.read_to_string(&mut masked).unwrap();
        assert_eq!(masked.len(), text.len());
        let document: serde_json::Value = serde_json::from_str(&masked).unwrap();
        assert!(document["traceEvents"][0]["name"].as_str().unwrap().starts_with("step ***"));
        assert!(!masked.contains("123456"));
    }
}
