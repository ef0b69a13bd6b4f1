# Two commands matter: `make run` builds and shows a network at work, `make test` installs what the tests need and runs them.
BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
CMAKE_FLAGS ?=
PYTHON ?= /usr/bin/python3
LAUNCHER := $(if $(shell command -v ccache),-DCMAKE_C_COMPILER_LAUNCHER=ccache)
CONFIGURE = cmake -S . -G Ninja $(LAUNCHER) $(CMAKE_FLAGS)

.PHONY: all run python test test-cross test-avx512 test-backends test-cpu-plugin install uninstall asan tsan fuzz hostile stress check-layers check-arithmetic check-paths model bench-pool bench-models bench-turns bench-ops clean deps deps-test deps-python format

all: deps
	@$(CONFIGURE) -B $(BUILD) >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)

run: all
	@sh examples/run_demo.sh $(BUILD)

test: deps-test check-layers check-arithmetic check-paths
	@$(CONFIGURE) -B $(BUILD) -DONYX_TESTS=ON >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)
	@sh tools/run_tests.sh $(BUILD)

# The wheels: dist/onyx-*.whl and dist/onnxruntime-*.whl (docs/python.md).
python: deps deps-python
	@$(CONFIGURE) -B $(BUILD) >/dev/null
	@$(PYTHON) python/build/onyx_build.py --build $(BUILD) --out dist

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

# What the last `make install` of this build folder installed.
uninstall:
	@sh tools/uninstall.sh $(BUILD)

# Unit tests under the sanitizers, each in a build folder of its own.
asan: deps-test
	@$(CONFIGURE) -B $(BUILD)-asan -DONYX_TESTS=ON -DONYX_SANITIZE=address,undefined >/dev/null
	@cmake --build $(BUILD)-asan -j $(JOBS)
	@cd $(BUILD)-asan && ctest --output-on-failure -j $(JOBS)

tsan: deps-test
	@$(CONFIGURE) -B $(BUILD)-tsan -DONYX_TESTS=ON -DONYX_SANITIZE=thread >/dev/null
	@cmake --build $(BUILD)-tsan -j $(JOBS)
	@cd $(BUILD)-tsan && ctest --output-on-failure -j $(JOBS)

# The task pool on each back-end and on an executor. Not under TSan: it cannot see into the OpenMP run-time and complains.
test-backends: deps-test
	@CMAKE_FLAGS="$(LAUNCHER) $(CMAKE_FLAGS)" JOBS=$(JOBS) sh tools/test_backends.sh $(BUILD)

# The CPU provider as a plug-in: the same tests, the same bits.
test-cpu-plugin: all deps-test
	@CMAKE_FLAGS="$(LAUNCHER) $(CMAKE_FLAGS)" JOBS=$(JOBS) sh tools/test_cpu_plugin.sh $(BUILD)

FUZZ_SECONDS ?= 600
fuzz: deps
	@sh tools/need.sh clang
	@CC=clang $(CONFIGURE) -B $(BUILD)-fuzz -DONYX_FUZZ=ON >/dev/null
	@cmake --build $(BUILD)-fuzz --target fuzzers -j $(JOBS)
	@sh tools/run_fuzz.sh $(BUILD)-fuzz $(FUZZ_SECONDS)

# Models with false declarations, under AddressSanitizer and UBSan (docs/testing.md).
HOSTILE_FLAGS ?= --seconds 600
hostile: deps-test
	@$(CONFIGURE) -B $(BUILD)-asan -DONYX_TESTS=ON -DONYX_SANITIZE=address,undefined >/dev/null
	@cmake --build $(BUILD)-asan -j $(JOBS) --target hostile
	@ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
	  $(BUILD)-asan/tests/hostile --jobs $(JOBS) $(HOSTILE_FLAGS) tests/hostile/seeds.txt

# The task pool under everything at once: 10^8 tasks on 64 threads (two minutes on two processors).
STRESS_TASKS ?= 100000000
stress: deps-test
	@$(CONFIGURE) -B $(BUILD) -DONYX_TESTS=ON >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target stress.pool
	@STRESS_TASKS=$(STRESS_TASKS) $(BUILD)/tests/stress.pool

# The task pool's protocols, exhaustively (three to four minutes on two processors, 1 GB each).
model:
	@sh tools/need.sh gcc spin
	@sh tests/task/model/run.sh

# The task pool beside other pools: those whose packages are there (docs/bench-pool.md).
bench-pool: BENCH_FLAGS ?= --rounds 1
bench-pool: deps
	@sh tools/need.sh g++
	@$(CONFIGURE) -B $(BUILD) -DONYX_BENCH=ON >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target bench.pool
	@$(PYTHON) bench/pool/run.py --programs $(BUILD)/bench $(BENCH_FLAGS)

# Models beside other engines (docs/bench-models.md): make bench-models BENCH_FLAGS="DIR ... --ort LIBRARY"
bench-models: all
	@cmake --build $(BUILD) -j $(JOBS) --target bench.ort_run
	@$(PYTHON) bench/models/run.py --onyx $(BUILD)/bin/onyx --ort-run $(BUILD)/bench/ort_run $(BENCH_FLAGS)

# The same in one process, where others use the machine, too: make bench-turns BENCH_FLAGS="DIR ... --library LIBRARY"
bench-turns: all
	@cmake --build $(BUILD) -j $(JOBS) --target bench.ort_turns
	@$(PYTHON) bench/models/turns.py --ort-turns $(BUILD)/bench/ort_turns $(BENCH_FLAGS) \
	  --library $(BUILD)/lib/libonnxruntime.so.1

# Single operators beside other engines: make bench-ops BENCH_FLAGS="--ort LIBRARY --only '^conv'"
bench-ops: all
	@cmake --build $(BUILD) -j $(JOBS) --target bench.ort_run bench.limits
	@$(PYTHON) bench/ops/run.py --onyx $(BUILD)/bin/onyx --ort-run $(BUILD)/bench/ort_run \
	  --limits $(BUILD)/bench/limits $(BENCH_FLAGS)

# The task library on other systems, and the engine on arm64, under emulators.
test-cross: deps
	@sh tools/need.sh aarch64-linux-gnu-gcc=gcc-aarch64-linux-gnu aarch64-linux-gnu-g++=g++-aarch64-linux-gnu \
	  qemu-aarch64=qemu-user x86_64-w64-mingw32-gcc=gcc-mingw-w64-x86-64 \
	  x86_64-w64-mingw32-g++-posix=g++-mingw-w64-x86-64-posix /usr/lib/wine/wine64=wine64 wine
	@sh tools/run_cross_tests.sh $(BUILD)-cross

# Kernels for AVX-512 on any machine: make test-avx512 CASES="FOLDER kern.compressed" (docs/testing.md).
test-avx512: deps-test
	@sh tools/need.sh bochs=bochs /usr/lib/x86_64-linux-gnu/bochs/plugins/libbx_term_gui.so=bochs-term \
	  /usr/share/bochs/BIOS-bochs-latest=bochsbios /usr/lib/ISOLINUX/isolinux.bin=isolinux \
	  /usr/lib/syslinux/modules/bios/ldlinux.c32=syslinux-common xorriso=xorriso cpio=cpio /bin/busybox=busybox-static
	@$(CONFIGURE) -B $(BUILD) -DONYX_TESTS=ON >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)
	@sh tools/run_avx512_tests.sh $(BUILD) $(CASES)

check-layers:
	@$(PYTHON) tools/check_layers.py

check-arithmetic:
	@$(PYTHON) tools/check_arithmetic.py

check-paths:
	@$(PYTHON) tools/check_paths.py

deps:
	@sh tools/need.sh gcc cmake ninja=ninja-build pkg-config

# For the image plug-in and its tests; it is built with those that are there.
XNNPACK_LIBS = /usr/include/xnnpack.h=libxnnpack-dev /usr/include/pthreadpool.h=libpthreadpool-dev \
  /usr/include/cpuinfo.h=libcpuinfo-dev
IMAGE_LIBS = pc:libjpeg=libjpeg-dev pc:libpng=libpng-dev pc:libwebp=libwebp-dev pc:libtiff-4=libtiff-dev \
  pc:libopenjp2=libopenjp2-7-dev /usr/lib/python3/dist-packages/PIL=python3-pil
PYTHON_TESTS = python3-config=python3-dev /usr/lib/python3/dist-packages/numpy=python3-numpy \
  /usr/lib/python3/dist-packages/_pytest=python3-pytest
OPENCL = pc:OpenCL=ocl-icd-opencl-dev /usr/include/CL/cl.h=opencl-headers /etc/OpenCL/vendors/pocl.icd=pocl-opencl-icd
ONEDNN = /usr/include/oneapi/dnnl/dnnl.h=libdnnl-dev
deps-test: deps
	@sh tools/need.sh python3 /usr/include/cmocka.h=libcmocka-dev
	@sh tools/need.sh $(PYTHON_TESTS) || echo "the tests of the Python packages are left out"
	@sh tools/need.sh $(OPENCL) || echo "the OpenCL provider, or its tests, are left out"
	@sh tools/need.sh $(ONEDNN) || echo "the oneDNN provider is left out"
	@sh tools/need.sh $(IMAGE_LIBS) || echo "the image formats of these libraries are left out"
	@sh tools/need.sh $(XNNPACK_LIBS) || echo "the provider xnnpack is left out"

deps-python:
	@sh tools/need.sh python3-config=python3-dev

format:
	@git ls-files 'src/*.[ch]' 'python/src/*.[ch]' 'tests/*.[ch]' 'include/*.h' | xargs clang-format -i

clean:
	@rm -rf dist $(BUILD) $(BUILD)-asan $(BUILD)-tsan $(BUILD)-fuzz $(BUILD)-cross $(BUILD)-own $(BUILD)-openmp $(BUILD)-none $(BUILD)-cpu-plugin
