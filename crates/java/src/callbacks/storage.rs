//! A storage of checkpoints that Java implements.

use std::io;
use std::path::Path;

use fulgurite_graph::CheckpointStorage;
use jni::objects::{JObject, JObjectArray, JString};
use jni::refs::Global;
use jni::{Env, JavaVM, jni_sig, jni_str};

/// A storage that Java implements: an `org.fulgurite.internal.StorageCalls`.
pub struct JavaStorage {
    machine: JavaVM,
    calls: Global<JObject<'static>>,
}

impl JavaStorage {
    /// The storage of a Java object.
    ///
    /// # Errors
    /// Without memory for a reference.
    pub fn of(env: &Env<'_>, calls: &JObject<'_>) -> jni::errors::Result<Self> {
        Ok(Self { machine: env.get_java_vm()?, calls: env.new_global_ref(calls)? })
    }

    fn call<R>(&self, run: impl FnOnce(&mut Env<'_>, &JObject<'static>) -> jni::errors::Result<R>) -> io::Result<R> {
        let called: jni::errors::Result<R> = self.machine.attach_current_thread(|env| run(env, &self.calls));
        called.map_err(|error| match error {
            jni::errors::Error::CaughtJavaException { name, msg, .. } => io::Error::other(format!("{name}: {msg}")),
            error => io::Error::other(error),
        })
    }
}

/// A path as Java has it.
fn java_path<'l>(env: &mut Env<'l>, path: &Path) -> jni::errors::Result<JString<'l>> {
    env.new_string(path.to_string_lossy())
}

impl CheckpointStorage for JavaStorage {
    fn store(&self, name: &str, file: &Path) -> io::Result<()> {
        self.call(|env, calls| {
            let (name, file) = (env.new_string(name)?, java_path(env, file)?);
            let arguments = [(&name).into(), (&file).into()];
            let signature = jni_sig!("(Ljava/lang/String;Ljava/lang/String;)V");
            env.call_method(calls, jni_str!("store"), signature, &arguments).map(drop)
        })
    }

    fn fetch(&self, name: &str, path: &Path) -> io::Result<()> {
        self.call(|env, calls| {
            let (name, path) = (env.new_string(name)?, java_path(env, path)?);
            let arguments = [(&name).into(), (&path).into()];
            let signature = jni_sig!("(Ljava/lang/String;Ljava/lang/String;)V");
            env.call_method(calls, jni_str!("fetch"), signature, &arguments).map(drop)
        })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.call(|env, calls| {
            let name = env.new_string(name)?;
            let signature = jni_sig!("(Ljava/lang/String;)V");
            env.call_method(calls, jni_str!("remove"), signature, &[(&name).into()]).map(drop)
        })
    }

    fn names(&self) -> io::Result<Vec<String>> {
        self.call(|env, calls| {
            let signature = jni_sig!("()[Ljava/lang/String;");
            let found = env.call_method(calls, jni_str!("names"), signature, &[])?.l()?;
            let found = env.cast_local::<JObjectArray<'_, JString<'_>>>(found)?;
            let mut names = Vec::new();
            for index in 0..found.len(env)? {
                let name = found.get_element(env, index)?;
                names.push(name.try_to_string(env)?);
                env.delete_local_ref(name);
            }
            Ok(names)
        })
    }
}
