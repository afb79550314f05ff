#!/bin/sh
# Remove from a virtual environment what a running server never reads. Usage: slim.sh ENVIRONMENT
set -eu
packages=$(echo "$1"/lib/python3*/site-packages)

find "$packages" -type d \( -name tests -o -name testing_data \) -prune -exec rm -rf {} +
rm -rf "$packages"/pyarrow/include "$packages"/pyarrow/src "$packages"/numpy/*/include "$packages"/plotly/labextension
rm -f "$packages"/pyarrow/libarrow_flight* "$packages"/pyarrow/_flight*
rm -rf "$packages"/pip "$packages"/pip-*.dist-info "$packages"/setuptools "$packages"/setuptools-*.dist-info \
    "$packages"/pkg_resources "$packages"/_distutils_hack "$packages"/distutils-precedence.pth "$1"/bin/pip*
