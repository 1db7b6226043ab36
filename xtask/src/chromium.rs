//! A Chromium without a window, for the tests of `report.html`.

use std::path::Path;

use anyhow::Result;

use crate::debian::{Package, any};
use crate::shell::write_script;

/// The browser, a font, and every library a Debian that can do no more than install
/// packages does not have.
pub const PACKAGES: [Package; 52] = [
    any("chromium-headless-shell"),
    any("chromium-common"),
    any("fonts-dejavu-core"),
    any("libasound2"),
    any("libasyncns0"),
    any("libatk1.0-0"),
    any("libatspi2.0-0"),
    any("libbrotli1"),
    any("libbsd0"),
    any("libdav1d6"),
    any("libdbus-1-3"),
    any("libdouble-conversion3"),
    any("libdrm2"),
    any("libexpat1"),
    any("libffi8"),
    any("libflac12"),
    any("libfontconfig1"),
    any("libfreetype6"),
    any("libgbm1"),
    any("libglib2.0-0"),
    any("libgraphite2-3"),
    any("libharfbuzz-subset0"),
    any("libharfbuzz0b"),
    any("libjpeg62-turbo"),
    any("libminizip1"),
    any("libmp3lame0"),
    any("libmpg123-0"),
    any("libnspr4"),
    any("libnss3"),
    any("libogg0"),
    any("libopenh264-7"),
    any("libopus0"),
    any("libpng16-16"),
    any("libpulse0"),
    any("libsndfile1"),
    any("libvorbis0a"),
    any("libvorbisenc2"),
    any("libwayland-server0"),
    any("libx11-6"),
    any("libx11-xcb1"),
    any("libxau6"),
    any("libxcb1"),
    any("libxcomposite1"),
    any("libxdamage1"),
    any("libxdmcp6"),
    any("libxext6"),
    any("libxfixes3"),
    any("libxi6"),
    any("libxkbcommon0"),
    any("libxnvctrl0"),
    any("libxrandr2"),
    any("libxrender1"),
];

/// Beside the packages: `chromium`, which starts the browser with the libraries and the
/// fonts that came with it.
pub fn wrap(folder: &Path) -> Result<()> {
    let folder_shown = folder.display();
    fs_err::write(
        folder.join("fonts.conf"),
        format!(
            "<?xml version=\"1.0\"?>\n\
             <fontconfig>\n  \
               <dir>{folder_shown}/usr/share/fonts</dir>\n  \
               <cachedir>{folder_shown}/fontconfig</cachedir>\n\
             </fontconfig>\n"
        ),
    )?;
    write_script(
        &folder.join("chromium"),
        &format!(
            "#!/bin/sh\n\
             libraries='{folder_shown}/usr/lib/x86_64-linux-gnu'\n\
             LD_LIBRARY_PATH=\"$libraries:$libraries/pulseaudio:{folder_shown}/lib/x86_64-linux-gnu\"\n\
             FONTCONFIG_FILE='{folder_shown}/fonts.conf'\n\
             export LD_LIBRARY_PATH FONTCONFIG_FILE\n\
             exec '{folder_shown}/usr/lib/chromium/chromium-headless-shell' --no-sandbox \"$@\"\n"
        ),
    )
}
