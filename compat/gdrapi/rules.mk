# SPDX-License-Identifier: MIT
# libgdrapi.so.2 implements the interface of NVIDIA's gdrcopy with libpeerpin.so, which is
# in the same directory. libgdrapi links its own copy of two objects whose functions
# libpeerpin.so does not export.
GDR_SRC := $(wildcard compat/gdrapi/*.c)
GDR_OBJ := $(GDR_SRC:compat/gdrapi/%.c=$(B)/obj/gdrapi/%.o)
GDR_LIB_OBJ := $(B)/obj/lib/cuda/process.pic.o $(B)/obj/lib/sys/sys.pic.o

USER_TARGETS += $(B)/lib/libgdrapi.so.2 $(B)/lib/libgdrapi.so

$(B)/obj/gdrapi/%.o: compat/gdrapi/%.c | $(B)/obj/gdrapi
	$(CC) $(CPPFLAGS) $(CFLAGS) -Ilib/include -fvisibility=hidden -fPIC -MMD -MP -c -o $@ $<

$(B)/lib/libgdrapi.so.2: $(GDR_OBJ) $(GDR_LIB_OBJ) $(B)/lib/libpeerpin.so compat/gdrapi/libgdrapi.map | $(B)/lib
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,libgdrapi.so.2 -Wl,-z,defs $(if $(NO_RPATH),,-Wl,-rpath,'$$ORIGIN') \
		-Wl,--version-script=compat/gdrapi/libgdrapi.map -Wl,--no-undefined-version \
		-o $@ $(GDR_OBJ) $(GDR_LIB_OBJ) -L$(B)/lib -lpeerpin -lpthread

$(B)/lib/libgdrapi.so: $(B)/lib/libgdrapi.so.2
	ln -sf libgdrapi.so.2 $@

# for the unit tests
$(B)/lib/libgdr.a: $(GDR_OBJ)

$(B)/obj/gdrapi:
	mkdir -p $@

# ---- users of the library --------------------------------------------------------

GDR_VM := $(patsubst test/vm/gdrapi/%.c,$(B)/bin/vm/%,$(filter-out %_copies.c,$(wildcard test/vm/gdrapi/*.c)))
$(GDR_VM): $(B)/lib/libgdrapi.so
$(GDR_VM): private override CPPFLAGS += -Icompat/gdrapi
$(GDR_VM): private override LDFLAGS += -L$(B)/lib -Wl,--no-as-needed -lgdrapi

EXAMPLE_LIBS_gdrapi := -lgdrapi
$(B)/obj/examples/gdrapi_example.o: private override CPPFLAGS += -Icompat/gdrapi
$(B)/bin/examples/gdrapi: $(B)/lib/libgdrapi.so

GDR_BENCH_OBJ := $(addprefix $(B)/obj/gdrapi/,copy.o handle.o refuse.o stream.o) $(B)/obj/lib/cuda/process.pic.o
$(B)/bin/bench/gdrapi: $(GDR_BENCH_OBJ) $(B)/lib/libgdrapi.so
$(B)/bin/bench/gdrapi: BENCH_OBJ := $(GDR_BENCH_OBJ) -lgdrapi
$(B)/bin/bench/gdrapi: private override CPPFLAGS += -Icompat/gdrapi

$(B)/bin/vm/t_gdrapi_copies: $(GDR_BENCH_OBJ)
$(B)/bin/vm/t_gdrapi_copies: private VM_LIBS := $(GDR_BENCH_OBJ)

-include $(GDR_OBJ:.o=.d)
