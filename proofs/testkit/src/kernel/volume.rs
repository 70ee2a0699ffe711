//! A file system that can be made to fail: ext4 on a loop device whose medium is a sparse file in a file system in
//! memory, or a file system in memory by itself.
//!
//! All of it is done by the system's own tools, as root. Mounts belong to the process's mount namespace, and devices
//! are set free when they are unmounted, so that nothing stays behind.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::release::Release;

/// See the module. What was mounted is unmounted when it is dropped.
#[derive(Debug)]
pub(super) struct Volume {
    /// Where all of it is, below a directory that the caller owns.
    root: PathBuf,
    /// The loop device, while the file system on it is mounted.
    device: Option<String>,
    /// Whether the files are in memory directly.
    in_memory: bool,
    /// What was cut off the medium, from where.
    tail: Option<(u64, Vec<u8>)>,
    /// Repairs the medium if a process hangs because of it.
    release: Release,
}

impl Volume {
    /// A fresh ext4 on a medium that takes any write.
    ///
    /// # Errors
    /// What a tool says; so for all others.
    pub fn on_a_device(root: &Path) -> Result<Self, String> {
        let mut volume = Self::new(root, false)?;
        let size = format!("size={MEDIUM_BYTES}");
        tool("mount", &["-t", "tmpfs", "-o", &size, "fulgurite-medium"], Some(&volume.medium()))?;
        let image = volume.image();
        File::create_new(&image).and_then(|file| file.set_len(MEDIUM_BYTES)).map_err(told("the medium"))?;
        let extended = "nodiscard,lazy_itable_init=0,packed_meta_blocks=1";
        // Where writes fail, Linux 6.18 stops at a bug of its own in what ext4 keeps for a file's next extents, or
        // waits for itself in a truncation: so the files have block maps.
        let features = "^extent,^64bit";
        let layout = ["-q", "-F", "-m", "0", "-b", "4096", "-N", "512", "-J", "size=4", "-O", features, "-E", extended];
        tool("mkfs.ext4", &layout, Some(&image))?;
        // Ext4 forgives nobody who loses what it writes of itself: it may then lose files that were synced. That part
        // of the medium, at its beginning, stays sound.
        tool("fallocate", &["--length", &OWN_BYTES.to_string()], Some(&image))?;
        volume.mount()?;
        Ok(volume)
    }

    /// A file system in memory.
    pub fn in_memory(root: &Path) -> Result<Self, String> {
        let volume = Self::new(root, true)?;
        let size = format!("size={}", MEDIUM_BYTES / 2);
        tool("mount", &["-t", "tmpfs", "-o", &size, "fulgurite-files"], Some(&volume.files()))?;
        Ok(volume)
    }

    fn new(root: &Path, in_memory: bool) -> Result<Self, String> {
        let volume =
            Self { root: root.to_path_buf(), device: None, in_memory, tail: None, release: Release::default() };
        for directory in [volume.medium(), volume.files()] {
            fs::create_dir_all(directory).map_err(told("a directory"))?;
        }
        Ok(volume)
    }

    /// The directory of its files.
    pub fn files(&self) -> PathBuf {
        self.root.join("files")
    }

    /// Makes the system drop its cache of a file in memory, except what is mapped.
    pub fn forget_cached(&self, path: &Path) -> Result<(), String> {
        let file = format!("if={}", path.display());
        tool("dd", &[&file, "iflag=nocache", "count=0", "status=none"], None).map(drop)
    }

    /// From now on the medium has no room for what it does not have yet.
    pub fn fill_medium(&mut self) -> Result<(), String> {
        self.limit_fault();
        fill(&self.ballast(), 0)
    }

    /// From now on the medium ends at this many thousandths of its size. The rest can be neither read nor written.
    pub fn cut_medium(&mut self, thousandths: u64) -> Result<(), String> {
        let at = MEDIUM_BYTES / 1000 * thousandths / PAGE_BYTES * PAGE_BYTES;
        // What is written between the copy and the cut would be lost, though it was not refused.
        let files = self.files();
        tool("fsfreeze", &["--freeze"], Some(&files))?;
        let cut = fs::read(self.image()).map_err(told("the medium")).and_then(|bytes| {
            self.limit_fault();
            self.set_medium_length(at)?;
            self.tail = Some((at, bytes[at as usize..].to_vec()));
            Ok(())
        });
        tool("fsfreeze", &["--unfreeze"], Some(&files))?;
        cut
    }

    /// The medium works again. What was cut off is as it was.
    pub fn mend_medium(&mut self) -> Result<(), String> {
        self.release.stop();
        remove(&self.ballast())?;
        let Some((at, bytes)) = self.tail.take() else { return Ok(()) };
        let write = || {
            let mut image = OpenOptions::new().write(true).open(self.image())?;
            image.seek(SeekFrom::Start(at))?;
            write_sparsely(&mut image, &bytes)?;
            image.set_len(MEDIUM_BYTES)
        };
        write().map_err(told("the medium"))?;
        self.set_medium_length(MEDIUM_BYTES)
    }

    fn set_medium_length(&self, length: u64) -> Result<(), String> {
        set_length(&self.image(), self.device.as_deref(), length)
    }

    /// A fault of the medium ends when no process can still be waited for. See [`Release`].
    fn limit_fault(&mut self) {
        let (ballast, image, device) = (self.ballast(), self.image(), self.device.clone());
        self.release.start(FAULT_LIMIT, move || {
            let ended = remove(&ballast).and_then(|()| set_length(&image, device.as_deref(), MEDIUM_BYTES));
            if let Err(text) = ended {
                println!("the medium cannot be repaired: {text}");
            }
        });
    }

    /// Whether a fault of the medium lasted so long that it was ended: a process hung in the kernel.
    pub fn hung(&self) -> bool {
        self.release.has_released()
    }

    /// Fills the file system itself, except for so many bytes.
    pub fn fill_files(&self, left_bytes: u64) -> Result<(), String> {
        fill(&self.files().join("ballast"), left_bytes)
    }

    /// There is room again.
    pub fn free_files(&self) -> Result<(), String> {
        remove(&self.files().join("ballast"))?;
        // Ext4 gives blocks back when its journal has told so.
        tool("sync", &["--file-system"], Some(&self.files())).map(drop)
    }

    /// The bytes of the medium now: what is left if the power fails, once it is mended.
    pub fn power_cut(&self) -> Result<Vec<u8>, String> {
        let read = || fs::read(self.image()).map_err(told("the medium"));
        let mut bytes = read()?;
        for _ in 0..READS_MAX {
            let again = read()?;
            if again == bytes {
                bytes.extend_from_slice(self.tail.as_ref().map_or(&[], |(_, tail)| tail));
                return Ok(bytes);
            }
            bytes = again;
        }
        Err("the medium never becomes idle".into())
    }

    /// Unmounts, replaces the medium's bytes if there are others, has the file system's own check mend what it finds,
    /// and mounts again: nothing is in the page cache any more.
    pub fn mount_again(&mut self, bytes: Option<Vec<u8>>) -> Result<(), String> {
        self.unmount()?;
        self.mend_medium()?;
        if let Some(bytes) = bytes {
            let write = File::create(self.image()).and_then(|mut image| {
                write_sparsely(&mut image, &bytes)?;
                image.set_len(MEDIUM_BYTES)
            });
            write.map_err(told("the medium"))?;
        }
        self.mount()
    }

    fn mount(&mut self) -> Result<(), String> {
        let image = self.image();
        // 1 says that there was something to mend, which may well be.
        let check = Command::new("e2fsck").args(["-f", "-y"]).arg(&image).output().map_err(told("e2fsck"))?;
        if !matches!(check.status.code(), Some(0 | 1)) {
            return Err(format!("e2fsck: {}", String::from_utf8_lossy(&check.stdout).trim()));
        }
        let device = tool("losetup", &["--find", "--show"], Some(&image))?.trim().to_owned();
        // A loop device takes a write that found room for its first pages only for one that is done. So each has one
        // page.
        let name = device.trim_start_matches("/dev/");
        let queue = Path::new("/sys/block").join(name).join("queue/max_sectors_kb");
        fs::write(&queue, "4").map_err(told("max_sectors_kb"))?;
        let mounted = tool("mount", &["-t", "ext4", "-o", "noatime", &device], Some(&self.files()));
        // While it is mounted this only says that it is to go then.
        let freed = tool("losetup", &["--detach", &device], None);
        mounted?;
        self.device = Some(device.clone());
        freed?;
        // Blocks are kept for groups of files instead, which is free of that bug: no file is large enough to have its
        // own.
        let request = Path::new("/sys/fs/ext4").join(name).join("mb_stream_req");
        fs::write(&request, (MEDIUM_BYTES / PAGE_BYTES).to_string()).map_err(told("mb_stream_req"))?;
        Ok(())
    }

    fn unmount(&mut self) -> Result<(), String> {
        if self.device.take().is_some() || self.in_memory {
            tool("umount", &[], Some(&self.files()))?;
        }
        Ok(())
    }

    fn medium(&self) -> PathBuf {
        self.root.join("medium")
    }

    fn image(&self) -> PathBuf {
        self.medium().join("image")
    }

    fn ballast(&self) -> PathBuf {
        self.medium().join("ballast")
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        // What stays mounted goes with the mount namespace.
        let _ = self.unmount();
        self.release.stop();
        if !self.in_memory {
            let _ = tool("umount", &[], Some(&self.medium()));
        }
    }
}

/// Why no such file system can be had here, if so.
pub fn unavailable() -> Option<String> {
    let directory = match tempfile::tempdir() {
        Ok(directory) => directory,
        Err(error) => return Some(format!("no directory: {error}")),
    };
    Volume::on_a_device(directory.path()).err()
}

/// Runs a tool; answers its output.
fn tool(program: &str, arguments: &[&str], path: Option<&Path>) -> Result<String, String> {
    let output = Command::new(program).args(arguments).args(path).output().map_err(told(program))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(format!("{program} {}: {}", arguments.join(" "), text.trim()))
}

/// Gives the medium a length, and the device, if there is one, the same.
fn set_length(image: &Path, device: Option<&str>, length: u64) -> Result<(), String> {
    let image = OpenOptions::new().write(true).open(image);
    image.and_then(|image| image.set_len(length)).map_err(told("the medium"))?;
    device.map_or(Ok(()), |device| tool("losetup", &["--set-capacity", device], None).map(drop))
}

/// Writes until the medium is full, and then frees so much.
fn fill(path: &Path, left_bytes: u64) -> Result<(), String> {
    let write = || {
        let mut file = File::create(path)?;
        let zeros = vec![0; 256 << 10];
        let mut length = 0;
        let mut step = zeros.len();
        while step >= PAGE_BYTES as usize {
            match file.write(&zeros[..step]) {
                Ok(0) => step /= 2,
                Ok(written) => length += written as u64,
                Err(error) if error.kind() == io::ErrorKind::StorageFull => step /= 2,
                Err(error) => return Err(error),
            }
        }
        file.set_len(length.saturating_sub(left_bytes))
    };
    write().map_err(told("the ballast"))
}

fn remove(path: &Path) -> Result<(), String> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(told("the ballast")(error)),
        _ => Ok(()),
    }
}

/// Leaves holes where there are zeros: what the medium has no room for must stay so.
fn write_sparsely(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    for page in bytes.chunks(PAGE_BYTES as usize) {
        match page.iter().all(|byte| *byte == 0) {
            true => file.seek(SeekFrom::Current(page.len() as i64)).map(drop)?,
            false => file.write_all(page)?,
        }
    }
    Ok(())
}

fn told(what: &str) -> impl Fn(io::Error) -> String {
    move |error| format!("{what}: {error}")
}

/// Longer than a run waits for its processes before it kills them: one that is there after this cannot be killed.
const FAULT_LIMIT: Duration = Duration::from_secs(90);
const PAGE_BYTES: u64 = 4096;
const MEDIUM_BYTES: u64 = 40 << 20;
/// What ext4 needs for itself: journal, inodes, bitmaps, the directory.
const OWN_BYTES: u64 = 6 << 20;
/// The kernel writes back every few seconds at most.
const READS_MAX: usize = 20;
