//! Launchers of distributed programs, for the tests of ranks: Open MPI, Slurm and torchrun, each unpacked and started by a
//! script of its own.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::debian::{Package, any};
use crate::shell::write_script;

/// Each launcher, and every library of it that a bare Debian does not have.
pub const OPENMPI: [Package; 8] = [
    any("openmpi-bin"),
    any("openmpi-common"),
    any("libopenmpi3"),
    any("libpmix2"),
    any("libhwloc15"),
    any("libevent-core-2.1-7"),
    any("libevent-pthreads-2.1-7"),
    any("libmunge2"),
];

pub const SLURM: [Package; 6] = [
    any("slurmctld"),
    any("slurmd"),
    any("slurm-client"),
    any("slurm-wlm-basic-plugins"),
    any("libhwloc15"),
    any("libnuma1"),
];

/// PyTorch 1.13 with Gloo, for Python 3.11. The libraries for pictures and films, which it names but never calls, are left out.
pub const TORCH: [Package; 34] = [
    any("python3-torch"),
    any("libtorch1.13"),
    any("python3-typing-extensions"),
    any("libblas3"),
    any("liblapack3"),
    any("libgfortran5"),
    any("libcpuinfo0"),
    any("libdnnl2"),
    any("libfmt9"),
    any("libgflags2.2"),
    any("libgloo0"),
    any("libhiredis0.14"),
    any("libibverbs1"),
    any("libnl-3-200"),
    any("libnl-route-3-200"),
    any("libgoogle-glog0v6"),
    any("libunwind8"),
    any("libleveldb1d"),
    any("liblmdb0"),
    any("libnuma1"),
    any("libonnx1"),
    any("libprotobuf32"),
    any("libpthreadpool0"),
    any("libsleef3"),
    any("libsnappy1v5"),
    any("libtensorpipe0"),
    any("libuv1"),
    any("libxnnpack0"),
    any("libzmq5"),
    any("libsodium23"),
    any("libpgm-5.3-0"),
    any("libnorm1"),
    any("libbsd0"),
    any("ocl-icd-libopencl1"),
];

/// Without ssh, and without a word about network hardware that is not there.
pub fn openmpi(folder: &Path) -> Result<()> {
    let settings = folder.join("etc/openmpi/openmpi-mca-params.conf");
    let text = fs_err::read_to_string(&settings)?;
    fs_err::write(&settings, format!("{text}\nplm = isolated\nmca_base_component_show_load_errors = 0\n"))?;
    write_script(&folder.join("mpirun"), include_str!("mpirun.sh"))
}

pub fn slurm(folder: &Path) -> Result<()> {
    write_script(&folder.join("srun"), include_str!("srun.sh"))
}

pub fn torch(folder: &Path) -> Result<()> {
    // Any library will do where none is called.
    let stubs = folder.join("stubs");
    fs_err::create_dir_all(&stubs)?;
    let films = ["avcodec.so.59", "avformat.so.59", "avutil.so.57", "swresample.so.4", "swscale.so.6"];
    let pictures = [
        "calib3d",
        "core",
        "dnn",
        "features2d",
        "flann",
        "highgui",
        "imgcodecs",
        "imgproc",
        "optflow",
        "video",
        "videoio",
        "ximgproc",
    ];
    let pictures = pictures.map(|name| format!("opencv_{name}.so.406"));
    for name in films.into_iter().chain(pictures.iter().map(String::as_str)) {
        let place = stubs.join(format!("lib{name}"));
        std::os::unix::fs::symlink("../usr/lib/x86_64-linux-gnu/libnuma.so.1", place)?;
    }
    // Going through a flag leaves out zero since Python 3.11.
    let file = folder.join("usr/lib/python3/dist-packages/torch/distributed/elastic/multiprocessing/api.py");
    let text = fs_err::read_to_string(&file)?;
    let all = "for s in (Std.NONE, Std.OUT, Std.ERR, Std.ALL):";
    ensure!(text.contains("for s in Std:"), "`{}` is not the one that was expected", file.display());
    fs_err::write(&file, text.replace("for s in Std:", all))?;
    write_script(&folder.join("torchrun"), include_str!("torchrun.sh"))
}
