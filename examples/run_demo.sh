#!/bin/sh
# run_demo.sh BUILD: handwritten digits recognised, then a network of MobileNetV2's size timed and taken apart.
set -e
build=$1
here=$(dirname "$0")
echo "== handwritten digits that the network never saw"
echo
"$build/examples/digits" "$here/digits"
echo
echo "== a network of MobileNetV2's size, written just now"
"$build/examples/write_mobilenet" "$build/mobilenet.onnx"
echo
"$build/bin/onyx" bench "$build/mobilenet.onnx" --seconds 2
echo
"$build/bin/onyx" profile "$build/mobilenet.onnx" --runs 20 --top 10
