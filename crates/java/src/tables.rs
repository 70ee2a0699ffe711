//! Tables.

use fulgurite::{MergeOperator, TableOptions};
use fulgurite_handles::type_name;
use jni::objects::{JClass, JObjectArray, JString};
use jni::sys::{jint, jlong};
use jni::{Env, NativeMethod, native_method};

use crate::arguments::text;
use crate::database::strings;
use crate::error::{Failure, Result, Throw};
use crate::registry::{Object, REGISTRY};

const _: [NativeMethod<'_>; 6] = [
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn create_table(
            database: jlong, name: JString, flags: jint, align: jint, operator: jint, function: JString,
            types: JString[], if_absent: jboolean
        ) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn table_types(table: jlong) -> JString[],
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn open_table(database: jlong, name: JString) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn drop_table(database: jlong, table: jlong) -> void,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn rename_table(database: jlong, table: jlong, name: JString) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn table_names(database: jlong) -> JString[],
    },
];

/// Flags of `org.fulgurite.TableOptions`.
const COUNTED: jint = 1;
const PACKED: jint = 2;

/// The options of a table. `operator` is the position of a merge operator, or negative for none.
fn options(flags: jint, align: jint, operator: jint) -> Result<TableOptions> {
    let align = u8::try_from(align)
        .map_err(|_| Failure::Invalid(format!("the alignment is {align}; it must be 1, 4, 8 or 16 bytes")))?;
    let options = TableOptions::new().counted(flags & COUNTED != 0).packed(flags & PACKED != 0).value_align(align);
    let Ok(position) = usize::try_from(operator) else { return Ok(options) };
    let operator = MergeOperator::ALL
        .get(position)
        .ok_or_else(|| Failure::Invalid(format!("{operator} is not a merge operator")))?;
    Ok(options.merge(*operator))
}

/// Creates a table. `function` is the name of a merge function, or null.
#[expect(clippy::too_many_arguments, reason = "the signature of the Java method")]
fn create_table<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    database: jlong,
    name: JString<'l>,
    flags: jint,
    align: jint,
    operator: jint,
    function: JString<'l>,
    types: JObjectArray<'l, JString<'l>>,
    if_absent: bool,
) -> Result<jlong> {
    let (name, mut options) = (text(env, &name)?, options(flags, align, operator)?);
    if !function.is_null() {
        options = options.merge_function(text(env, &function)?);
    }
    let [key_type, value_type] = [(0, "keyType"), (1, "valueType")].map(|(index, option)| {
        let name = types.get_element(env, index)?;
        type_name(&text(env, &name)?, option).map_err(Failure::Invalid)
    });
    let options = options.key_type(key_type?).value_type(value_type?);
    let database = REGISTRY.database(database)?;
    let table = match if_absent {
        true => database.open_or_create_table(&name, options)?,
        false => database.create_table(&name, options)?,
    };
    Ok(REGISTRY.add(Object::Table(table)))
}

fn open_table<'l>(env: &mut Env<'l>, _: JClass<'l>, database: jlong, name: JString<'l>) -> Result<jlong> {
    let name = text(env, &name)?;
    Ok(REGISTRY.add(Object::Table(REGISTRY.database(database)?.open_table(&name)?)))
}

/// The names of the types of a table's keys and values.
fn table_types<'l>(env: &mut Env<'l>, _: JClass<'l>, table: jlong) -> Result<JObjectArray<'l, JString<'l>>> {
    let table = REGISTRY.table(table)?;
    strings(env, &[table.key_type(), table.value_type()])
}

fn drop_table<'l>(_: &mut Env<'l>, _: JClass<'l>, database: jlong, table: jlong) -> Result<()> {
    Ok(REGISTRY.database(database)?.drop_table(&REGISTRY.table(table)?)?)
}

fn rename_table<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    database: jlong,
    table: jlong,
    name: JString<'l>,
) -> Result<jlong> {
    let name = text(env, &name)?;
    let renamed = REGISTRY.database(database)?.rename_table(&REGISTRY.table(table)?, &name)?;
    Ok(REGISTRY.add(Object::Table(renamed)))
}

fn table_names<'l>(env: &mut Env<'l>, _: JClass<'l>, database: jlong) -> Result<JObjectArray<'l, JString<'l>>> {
    let tables = REGISTRY.database(database)?.tables()?;
    let names: Vec<&str> = tables.iter().map(fulgurite::Table::name).collect();
    strings(env, &names)
}
