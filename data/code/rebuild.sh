#!/bin/sh
# Writes keys.scip.gz anew, by the rust-analyzer of this machine: rustup component add rust-analyzer
set -eu
repository=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/crates"
cp -r "$repository/crates/keys" "$scratch/crates/"
cp "$repository/Cargo.lock" "$scratch/"
sed -e 's|^members = .*|members = ["crates/keys"]|' -e '/^default-members/d' "$repository/Cargo.toml" > "$scratch/Cargo.toml"
cd "$scratch"
rust-analyzer scip . --output keys.scip
python3 "$repository/data/code/without_root.py" < keys.scip > stripped.scip
gzip -9 -n < stripped.scip > "$repository/data/code/keys.scip.gz"
