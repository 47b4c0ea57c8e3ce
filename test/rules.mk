# SPDX-License-Identifier: MIT
#
# test/unit/DIR/test_X.c becomes $(B)/bin/test/test_X. All unit tests link the same
# static archives, in one order; the linker takes the objects that a test needs.
# Unit tests do not link libhook: its dlsym() would replace libc's.
#
# test/vm/DIR/X.c becomes $(B)/bin/vm/X. Each may use libpeerpin, libcuda and
# libnvidia-ml; a program depends only on the libraries that it uses.
UNIT_SRC := $(wildcard test/unit/*/test_*.c)
UNIT_BIN := $(patsubst %.c,$(B)/bin/test/%,$(notdir $(UNIT_SRC)))
UNIT_ARCHIVES := $(patsubst %,$(B)/lib/lib%.a,plot verify tool judge gdr verbs fi ranges emucuda peerpin)
VM_SRC := $(wildcard test/vm/*/*.c)
VM_BIN := $(patsubst %.c,$(B)/bin/vm/%,$(notdir $(VM_SRC)))

vpath test_%.c $(sort $(dir $(UNIT_SRC)))
vpath mock_%.c test/unit/mock
vpath t_%.c $(sort $(dir $(VM_SRC)))
vpath verbs_server.c test/vm/verbs
vpath ring.c test/vm/rdma
vpath fi_client.c test/vm/fi
vpath ucm_client.c test/vm/ucm

USER_TARGETS += $(UNIT_BIN) $(VM_BIN)

# ---- unit tests ------------------------------------------------------------------

$(B)/obj/test/%.o: %.c | $(B)/obj/test
	$(CC) $(CPPFLAGS) $(CFLAGS) -Ilib/include -Iemu/include -Icompat/gdrapi \
		-DBUILD='"$(B)"' -MMD -MP -c -o $@ $<

$(UNIT_BIN): $(B)/bin/test/%: $(B)/obj/test/%.o $(UNIT_ARCHIVES) | $(B)/bin/test
	$(CC) $(CFLAGS) $(LDFLAGS) $(UNIT_LDFLAGS) $(UNIT_WRAP:%=-Wl,--wrap=%) -o $@ $(filter-out %.a,$^) $(UNIT_ARCHIVES) \
		-Wl,--as-needed -larchive -ljson-c -lpci -lz -lm -lcmocka -lpthread -ldl

unit = $(1:%=$(B)/bin/test/test_%)

# A mock is an object file. It precedes the archives on the command line, so the linker
# takes the mock's functions instead of the library's. Only the tests listed here link a mock.
MOCKED_kernel := null cancel region watched map export ctx_cache watch why peer verbs verbs_host gdrapi gdrapi_map
MOCKED_cuda := fi_subs null cancel region watched map export ctx_cache descriptors watch why file query peer verbs verbs_host
MOCKED_memory := regcache regcache_limits regcache_threads regcache_model regcache_torture publish
MOCKED_nvml := why
MOCKED_verbs := verbs verbs_host
$(foreach m,kernel cuda memory nvml verbs,$(eval $(call unit,$(MOCKED_$m)): $(B)/obj/test/mock_$m.o))

# The test copy observes or replaces these calls.
$(call unit,copy): private UNIT_WRAP := pp_open pp_close pp_cache_create_ctx pp_cache_destroy pp_peer_open pp_peer_close pp_peer_copy
$(call unit,cache_memory): private UNIT_WRAP := calloc madvise mprotect munmap sysconf
$(call unit,cache_clock): private UNIT_WRAP := pp_now_ns
$(call unit,cache_wait): private UNIT_WRAP := pp_fence_heavy pp_waiter_sleep pthread_mutex_trylock
$(call unit,cache_fork fork_lock): private UNIT_WRAP := pthread_mutex_lock
$(call unit,gdrapi): private UNIT_WRAP := calloc
$(call unit,thread): private UNIT_WRAP := clock_gettime

# For these tests, the library looks up functions of the test by dlsym().
$(call unit,cuda_lookup loader_lock ucm_loader verbs watch): private UNIT_LDFLAGS := -rdynamic

# Files that the tests run or open
FAKE := $(B)/bin/test/fake
HOOKED := $(FAKE)/hooked
$(call unit,terminal tool_ends topo verify_run): | $(B)/bin/peerpin
$(call unit,unload): | $(B)/lib/libpeerpin.so.1
$(call unit,libcuda_proc): | $(B)/emu/libcuda.so.1
$(call unit,cuda_lookup): | $(FAKE)/libcuda.so.1 $(FAKE)/plugin.so
$(call unit,facts root capture): | $(FAKE)/vendor/libcuda.so.1
$(call unit,facts root capture): private UNIT_LDFLAGS := -Wl,-rpath,'$$ORIGIN/fake/vendor'

$(call unit,wire): $(B)/vm/bridge.o $(B)/vm/port.o

$(call unit,hook_going): $(B)/obj/hook/going.o
$(call unit,fork_lock loader_lock): $(B)/obj/ucm/ucm.o $(B)/obj/ucm/ranges.o
$(call unit,fi_import): | $(patsubst %,$(FAKE)/lib%-fi.so,verbs verbs-1.12 shm)
$(call unit,fi_import fork_lock loader_lock): | $(FAKE)/libfabric.so.1
$(call unit,fork_lock loader_lock): | $(FAKE)/libucm.so.0
$(call unit,fork_lock): | $(B)/emu/libcuda.so.1
$(call unit,loader_lock ucm_loader): | $(FAKE)/plugin.so
$(call unit,ucm_loader): | $(FAKE)/libibverbs.so.1 $(B)/lib/libpeerpin-ucm.so.1
$(call unit,hook hook_subscriber): $(B)/lib/libpeerpin-hook.so $(HOOKED)/libcuda.so.1
$(call unit,hook hook_subscriber): private UNIT_LDFLAGS := -Wl,-rpath,'$$ORIGIN/../../lib:$$ORIGIN/fake/hooked'
$(call unit,hook): | $(HOOKED)/libversioned.so
$(call unit,hook_preload): | $(call unit,hook) $(patsubst %,$(HOOKED)/%.so,copy by_other next plugin)

# ---- fake libraries of unit tests --------------------------------------------------

FAKE_CUDA := $(FAKE)/libcuda.so.1 $(FAKE)/vendor/libcuda.so.1 $(HOOKED)/libcuda.so.1
FAKE_PROVIDER := $(patsubst %,$(FAKE)/lib%-fi.so,verbs verbs-1.12 shm)
FAKE_OTHER := $(patsubst %,$(FAKE)/%,plugin.so bound.so rereg.so libibverbs.so.1 libfabric.so.1 libucm.so.0) $(FAKE_PROVIDER) $(patsubst %,$(HOOKED)/%.so,by_other libversioned next plugin)

$(FAKE_CUDA) $(FAKE_OTHER): | $(HOOKED) $(FAKE)/vendor
	$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -shared $(FAKE_LDFLAGS) -o $@ $(filter-out %.h,$^)

$(FAKE)/libcuda.so.1: test/unit/mock/fake_cuda.c
$(FAKE)/plugin.so: test/unit/mock/fake_plugin.c
$(FAKE)/bound.so: test/unit/mock/fake_bound.c
$(FAKE)/rereg.so: test/unit/mock/fake_rereg.c
$(FAKE)/libibverbs.so.1: test/unit/mock/fake_verbs.c
$(FAKE)/libfabric.so.1: test/unit/mock/fake_fabric.c test/unit/mock/fake_fabric.h
$(FAKE)/libucm.so.0: test/unit/mock/fake_ucm.c
$(FAKE_PROVIDER): test/unit/mock/fake_provider.c
$(FAKE)/vendor/libcuda.so.1: test/unit/mock/fake_vendor_cuda.c
$(HOOKED)/libcuda.so.1 $(HOOKED)/libversioned.so: test/unit/mock/fake_hooked_cuda.c test/unit/hook/hook_case.h
$(HOOKED)/by_other.so: test/unit/mock/fake_hooked_by_other.c
$(HOOKED)/next.so: test/unit/mock/fake_hooked_next.c
$(HOOKED)/plugin.so: test/unit/mock/fake_hooked_plugin.c $(HOOKED)/libcuda.so.1

$(FAKE_CUDA): private FAKE_LDFLAGS += -Wl,-soname,libcuda.so.1
$(HOOKED)/libcuda.so.1: private FAKE_LDFLAGS += -Wl,-Bsymbolic-functions
$(HOOKED)/libversioned.so: private FAKE_LDFLAGS := -Wl,-soname,libversioned.so -Wl,--default-symver -Wl,-Bsymbolic
$(FAKE)/bound.so: private FAKE_LDFLAGS := -Wl,--version-script=test/unit/mock/fake_bound.map
$(FAKE)/rereg.so: private FAKE_LDFLAGS := -Wl,--version-script=test/unit/mock/fake_rereg.map
$(FAKE)/libibverbs.so.1: private FAKE_LDFLAGS := -Wl,-soname,libibverbs.so.1 -Wl,--version-script=test/unit/mock/fake_verbs.map
$(FAKE)/libfabric.so.1: private FAKE_LDFLAGS := -Wl,-soname,libfabric.so.1 -Wl,--version-script=test/unit/mock/fake_fabric.map
$(FAKE)/libucm.so.0: private FAKE_LDFLAGS := -Wl,-soname,libucm.so.0
$(HOOKED)/plugin.so: private FAKE_LDFLAGS := -Wl,-rpath,'$$ORIGIN'

# A copy of the hook. Because of the other file name, the dynamic loader treats the copy as another library.
$(HOOKED)/copy.so: $(B)/lib/libpeerpin-hook.so.1 | $(HOOKED)
	$(CC) $(CFLAGS) $(LDFLAGS) -shared $(subst libpeerpin-hook.so.1,copy.so,$(HOOK_LDFLAGS)) -o $@ $(HOOK_OBJ) \
		-ldl -lpthread

# ---- programs of the VM ------------------------------------------------------------

$(B)/bin/vm/%: %.c $(B)/lib/libpeerpin.so $(B)/emu/libcuda.so $(B)/emu/libnvidia-ml.so.1 | $(B)/bin/vm
	$(CC) $(CPPFLAGS) $(CFLAGS) -Ilib/include -Iemu/include -MMD -MP \
		$(LDFLAGS) -o $@ $< -L$(B)/lib -L$(B)/emu -Wl,--as-needed $(VM_LIBS) -lpeerpin -lcuda \
		-l:libnvidia-ml.so.1 -lpthread

vm = $(1:%=$(B)/bin/vm/%)

# The hook must precede libcuda in the link order.
$(call vm,t_hook t_watch t_watch_dmabuf): $(B)/lib/libpeerpin-hook.so
$(call vm,t_hook t_watch t_watch_dmabuf): private VM_LIBS := -Wl,--no-as-needed -lpeerpin-hook -Wl,--as-needed
$(call vm,t_verbs verbs_server t_rdma_cache): $(B)/lib/libpeerpin-verbs.so
$(call vm,t_fail_rdma t_rdma t_rdma_range t_rdma_order t_rdma_kill t_rdma_function t_rdma_gpu t_rdma_module t_rdma_free_race t_rdma_reach ring): private VM_LIBS := -libverbs
$(call vm,t_verbs verbs_server t_rdma_cache): private VM_LIBS := -lpeerpin-verbs -libverbs
$(call vm,fi_client): private VM_LIBS := -lfabric
$(call vm,t_fi): | $(B)/lib/libpeerpin-fi.so.1 $(call vm,fi_client) $(FAKE)/libverbs-fi.so
$(call vm,ucm_client): private VM_LIBS := -lucp -lucs -lucm -libverbs
$(call vm,t_ucm): | $(B)/lib/libpeerpin-ucm.so.1 $(B)/lib/libpeerpin-hook.so.1 $(call vm,ucm_client) $(FAKE)/bound.so $(FAKE)/rereg.so
$(call vm,t_cudart): $(B)/emu/libcudart.so.13
$(call vm,t_cudart): private VM_LIBS := -l:libcudart.so.13
$(call vm,t_storage_flight t_storage_view): private VM_LIBS := -luring
$(call vm,t_topo t_topo_replay): private VM_LIBS := -ljson-c
# The dynamic loader ignores LD_LIBRARY_PATH for a setuid program.
$(call vm,t_security_setuid): $(B)/lib/libpeerpin.a
$(call vm,t_security_setuid): private VM_LIBS := $(B)/lib/libpeerpin.a

$(B)/obj/test $(B)/bin/test $(FAKE) $(HOOKED) $(FAKE)/vendor $(B)/bin/vm:
	mkdir -p $@

-include $(wildcard $(B)/obj/test/*.d $(B)/bin/vm/*.d)
