# SPDX-License-Identifier: MIT
#
# test/unit/test_X.c becomes $(B)/bin/test/test_X, linked with cmocka, the
# helpers test/unit/mock_*.c and libpeerpin.a. A test of other code names what
# it needs before this fragment is read or after it:
#	UNIT_OBJ_test_X := objects
#	UNIT_CFLAGS_test_X := flags
#
# test/vm/X.c becomes $(B)/bin/vm/X; all may use libpeerpin, libcuda and
# libnvidia-ml, and only those that do depend on them.
UNIT_SRC := $(wildcard test/unit/test_*.c)
UNIT_BIN := $(UNIT_SRC:test/unit/%.c=$(B)/bin/test/%)
UNIT_MOCK := $(patsubst test/unit/%.c,$(B)/obj/test/%.o,$(wildcard test/unit/mock_*.c))
UNIT_LIB := $(B)/lib/libpeerpin.a
VM_SRC := $(wildcard test/vm/*.c)
VM_BIN := $(VM_SRC:test/vm/%.c=$(B)/bin/vm/%)

USER_TARGETS += $(UNIT_BIN) $(VM_BIN)

# first in the link, so that mocks take the place of the library's functions
UNIT_OBJ_test_region = $(B)/obj/test/mock_kernel.o $(B)/obj/test/mock_cuda.o
UNIT_OBJ_test_map = $(B)/obj/test/mock_kernel.o $(B)/obj/test/mock_cuda.o
UNIT_OBJ_test_export = $(B)/obj/test/mock_kernel.o $(B)/obj/test/mock_cuda.o
UNIT_OBJ_test_ctx_cache = $(B)/obj/test/mock_kernel.o $(B)/obj/test/mock_cuda.o
UNIT_OBJ_test_descriptors = $(B)/obj/test/mock_cuda.o
UNIT_OBJ_test_watch = $(B)/obj/test/mock_kernel.o $(B)/obj/test/mock_cuda.o
UNIT_OBJ_test_why = $(B)/obj/test/mock_kernel.o $(B)/obj/test/mock_cuda.o $(B)/obj/test/mock_nvml.o
UNIT_OBJ_test_file = $(B)/obj/test/mock_cuda.o
UNIT_OBJ_test_query = $(B)/obj/test/mock_cuda.o
UNIT_OBJ_test_peer = $(B)/obj/test/mock_kernel.o $(B)/obj/test/mock_cuda.o
UNIT_OBJ_test_regcache = $(B)/obj/test/mock_memory.o
UNIT_OBJ_test_regcache_limits = $(B)/obj/test/mock_memory.o
UNIT_OBJ_test_regcache_threads = $(B)/obj/test/mock_memory.o
UNIT_OBJ_test_regcache_model = $(B)/obj/test/mock_memory.o
UNIT_OBJ_test_regcache_torture = $(B)/obj/test/mock_memory.o
UNIT_OBJ_test_verbs = $(patsubst %,$(B)/obj/test/mock_%.o,kernel cuda verbs) \
	$(patsubst %,$(B)/obj/verbs/%.o,explain registration verbs)
UNIT_OBJ_test_verbs_host = $(UNIT_OBJ_test_verbs)
UNIT_OBJ_test_libcuda_vmm = $(patsubst %,$(B)/obj/libcuda/%.o,alloc fit handle reserve set space vmm)
UNIT_OBJ_test_tool_args = $(B)/obj/tool/args.o $(B)/obj/tool/pattern.o $(B)/obj/tool/units.o
UNIT_OBJ_test_top_rates = $(B)/obj/tool/top_rates.o
UNIT_OBJ_test_top_view = $(patsubst %,$(B)/obj/tool/%.o,bar1 top_layout top_view units)
UNIT_OBJ_test_publish = $(B)/obj/test/mock_memory.o $(patsubst %,$(B)/obj/tool/%.o,accounts bar1 cache_counts explain fds grow \
	owners owners_core printable tool top_rates top_sample)
UNIT_OBJ_test_tool_owners = $(patsubst %,$(B)/obj/tool/%.o,accounts fds grow owners owners_core printable tool)
UNIT_OBJ_test_tool_ends = $(patsubst %,$(B)/obj/tool/%.o,grow tool)
UNIT_CFLAGS_test_tool_ends = -DPEERPIN='"$(B)/bin/peerpin"'
UNIT_OBJ_test_bar1 = $(B)/obj/tool/bar1.o
UNIT_OBJ_test_copy = $(patsubst %,$(B)/obj/tool/%.o,args copy explain file_copy file_result gpu json pattern result surface tool \
	units utf8)
UNIT_OBJ_test_file_copy = $(patsubst %,$(B)/obj/tool/%.o,file_copy file_result json pattern surface tool units utf8)
UNIT_OBJ_test_modinfo = $(B)/vm/modinfo.o
UNIT_OBJ_test_judge_plan = $(B)/obj/judge/plan.o
UNIT_OBJ_test_judge_splat = $(B)/obj/judge/splat.o
UNIT_OBJ_test_judge_violations = $(B)/obj/judge/violations.o
UNIT_OBJ_test_verify_scenarios = $(patsubst %,$(B)/obj/tool/%.o,grow tool verify_recording verify_rows verify_scenarios)
UNIT_OBJ_test_verify_stream = $(UNIT_OBJ_test_verify_scenarios) $(patsubst %,$(B)/obj/tool/%.o,verify_result verify_stream)
UNIT_OBJ_test_verify_time = $(UNIT_OBJ_test_verify_stream) $(B)/obj/judge/splat.o \
	$(patsubst %,$(B)/obj/tool/%.o,ending verify_death verify_place verify_rules verify_run verify_summary verify_vm)
UNIT_CFLAGS_test_verify_time = -DFAKE_VM_RUN='"test/unit/fake_vm_run"'
UNIT_OBJ_test_terminal = $(B)/obj/tool/verify_progress.o
UNIT_CFLAGS_test_terminal = -DPEERPIN='"$(B)/bin/peerpin"'
UNIT_OBJ_test_facts = $(patsubst %,$(B)/obj/tool/%.o,bar1 facts facts_live facts_vendor grow printable tool tree tree_text)
UNIT_OBJ_test_scrub = $(patsubst %,$(B)/obj/tool/%.o,pci_config scrub scrub_config)
UNIT_OBJ_test_root = $(patsubst %,$(B)/obj/tool/%.o,ending grow printable root tool tree tree_text unpack)
UNIT_OBJ_test_capture = $(patsubst %,$(B)/obj/tool/%.o,bar1 capture capture_entries capture_list capture_names \
	capture_tar ending facts facts_live facts_vendor grow guest machine pci_config pci_device printable root scrub scrub_config tool tree tree_text unpack)
UNIT_OBJ_test_doctor = $(patsubst %,$(B)/obj/tool/%.o,$(notdir $(basename $(wildcard tool/check*.c)))) \
	$(patsubst %,$(B)/obj/tool/%.o,bar1 doctor_json doctor_report doctor_text doctor_view doctor_ways facts \
	facts_live facts_vendor grow guest json machine pair path pci_config pci_device printable tool tree tree_text units utf8)
UNIT_OBJ_test_doctor_pairs = $(UNIT_OBJ_test_doctor)
UNIT_OBJ_test_doctor_captured = $(UNIT_OBJ_test_doctor) $(patsubst %,$(B)/obj/tool/%.o,ending root unpack)
UNIT_OBJ_test_json = $(patsubst %,$(B)/obj/tool/%.o,json tool utf8)
UNIT_OBJ_test_plot = $(patsubst %,$(B)/obj/bench/plot/%.o,draw label results scale) $(B)/obj/tool/markup.o
UNIT_MACHINE := $(patsubst %,$(B)/obj/tool/%.o,grow guest machine path pci_config pci_device printable tool tree tree_text)
UNIT_OBJ_test_tree = $(patsubst %,$(B)/obj/tool/%.o,grow printable tool tree tree_text)
UNIT_OBJ_test_machine = $(UNIT_MACHINE)
UNIT_OBJ_test_path = $(UNIT_MACHINE)
UNIT_OBJ_test_topo = $(UNIT_MACHINE) \
	$(patsubst %,$(B)/obj/tool/%.o,markup pci_name topo_layout topo_read topo_svg topo_text topo_words)
UNIT_CFLAGS_test_topo = -DPEERPIN='"$(B)/bin/peerpin"'
UNIT_CFLAGS_test_libcuda_proc = -DLIBCUDA='"$(B)/emu/libcuda.so.1"' -DMAP='"emu/libcuda/libcuda.map"'
UNIT_CFLAGS_test_cuda_lookup = -DFAKE_CUDA='"$(B)/bin/test/fake/libcuda.so.1"' \
	-DFAKE_PLUGIN='"$(B)/bin/test/fake/plugin.so"'
UNIT_CFLAGS_test_verify_run = -DPEERPIN='"$(B)/bin/peerpin"' -DFAKE_VM_RUN='"test/unit/fake_vm_run"'

HOOKED := $(B)/bin/test/fake/hooked
UNIT_OBJ_test_hook = $(B)/lib/libpeerpin-hook.so $(HOOKED)/libcuda.so.1
UNIT_OBJ_test_hook_subscriber = $(B)/lib/libpeerpin-hook.so $(HOOKED)/libcuda.so.1
UNIT_OBJ_test_hook_going = $(B)/obj/hook/going.o
UNIT_CFLAGS_test_unload := -DLIBRARY='"$(B)/lib/libpeerpin.so.1"'
UNIT_CFLAGS_test_hook := -DFAKE_VERSIONED='"$(B)/bin/test/fake/hooked/libversioned.so"'
UNIT_CFLAGS_test_hook_preload := -DHOOK='"$(B)/lib/libpeerpin-hook.so.1"' -DHOOKED='"$(B)/bin/test/fake/hooked/"'

$(B)/obj/test/%.o: test/unit/%.c | $(B)/obj/test
	$(CC) $(CPPFLAGS) $(CFLAGS) -Ikmod/uapi -Ilib/include -Ilib -Itool -Iemu/include \
		$(UNIT_CFLAGS_$*) -MMD -MP -c -o $@ $<

define UNIT_RULE
$(B)/bin/test/$(1): $(B)/obj/test/$(1).o $$(UNIT_OBJ_$(1)) $(UNIT_LIB) | $(B)/bin/test
	$$(CC) $$(CFLAGS) $$(LDFLAGS) -o $$@ $$< $$(UNIT_OBJ_$(1)) $(UNIT_LIB) -lcmocka -lpthread -ldl
endef
$(foreach t,$(notdir $(UNIT_BIN)),$(eval $(call UNIT_RULE,$(t))))

# calls of the library's that the test looks at or answers itself
WRAPPED_test_cache_memory := calloc madvise mprotect munmap sysconf
WRAPPED_test_cache_wait := pp_fence_heavy pthread_cond_wait pthread_mutex_trylock
WRAPPED_test_copy := pp_open pp_close pp_cache_create_ctx pp_cache_destroy pp_peer_open pp_peer_close pp_peer_copy
$(B)/bin/test/test_copy: private override LDFLAGS += $(WRAPPED_test_copy:%=-Wl,--wrap=%)
$(B)/bin/test/test_cache_memory: private override LDFLAGS += $(WRAPPED_test_cache_memory:%=-Wl,--wrap=%)
$(B)/bin/test/test_cache_wait: private override LDFLAGS += $(WRAPPED_test_cache_wait:%=-Wl,--wrap=%)

$(B)/bin/test/test_plot: private override LDFLAGS += -Wl,--no-as-needed -lm

$(B)/bin/test/test_verify_run: | $(B)/bin/peerpin
$(B)/bin/test/test_verify_run: private override LDFLAGS += -Wl,--no-as-needed -ljson-c

$(B)/bin/test/test_facts $(B)/bin/test/test_root $(B)/bin/test/test_capture: \
	private override LDFLAGS += -Wl,--no-as-needed -larchive -lz -Wl,-rpath,'$$ORIGIN/fake/vendor'
$(B)/bin/test/test_facts: | $(B)/bin/test/fake/vendor/libcuda.so.1

$(B)/bin/test/fake/vendor/libcuda.so.1: test/unit/fake_vendor_cuda.c | $(B)/bin/test/fake/vendor
	$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -Wl,-soname,libcuda.so.1 -o $@ $<

$(B)/bin/test/test_json $(B)/bin/test/test_copy $(B)/bin/test/test_file_copy: private override LDFLAGS += -Wl,--no-as-needed -ljson-c

$(patsubst %,$(B)/bin/test/%,test_doctor test_doctor_pairs test_doctor_captured): \
	private override LDFLAGS += -Wl,--no-as-needed -larchive -lz -ljson-c

$(B)/bin/test/test_topo $(B)/bin/test/test_tool_ends $(B)/bin/test/test_terminal: | $(B)/bin/peerpin
$(B)/bin/test/test_topo: private override LDFLAGS += -Wl,--no-as-needed -ljson-c -lpci

$(B)/bin/test/test_libcuda_proc: | $(B)/emu/libcuda.so.1

$(B)/bin/test/test_cuda_lookup: | $(B)/bin/test/fake/libcuda.so.1 $(B)/bin/test/fake/plugin.so
$(B)/bin/test/test_cuda_lookup: private override LDFLAGS += -rdynamic

$(B)/bin/test/test_unload: | $(B)/lib/libpeerpin.so.1

# so that it finds the hook that the test has
$(B)/bin/test/test_verbs $(B)/bin/test/test_watch: private override LDFLAGS += -rdynamic

$(B)/bin/test/fake/libcuda.so.1: test/unit/fake_cuda.c | $(B)/bin/test/fake
	$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -Wl,-soname,libcuda.so.1 -o $@ $<

$(B)/bin/test/fake/plugin.so: test/unit/fake_plugin.c | $(B)/bin/test/fake
	$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -o $@ $<

$(B)/bin/test/test_hook $(B)/bin/test/test_hook_subscriber: \
	private override LDFLAGS += -Wl,-rpath,'$$ORIGIN/../../lib:$$ORIGIN/fake/hooked'
$(B)/bin/test/test_hook: | $(HOOKED)/libversioned.so
$(B)/bin/test/test_hook_preload: | $(B)/bin/test/test_hook $(HOOKED)/copy.so $(HOOKED)/by_other.so $(HOOKED)/next.so \
	$(HOOKED)/plugin.so

$(HOOKED)/%.so: test/unit/fake_hooked_%.c | $(HOOKED)
	$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -o $@ $<

$(HOOKED)/libcuda.so.1: test/unit/fake_hooked_cuda.c test/unit/hook_case.h | $(HOOKED)
	$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic-functions -o $@ $<

$(HOOKED)/libversioned.so: test/unit/fake_hooked_cuda.c test/unit/hook_case.h | $(HOOKED)
	$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -Wl,-soname,libversioned.so -Wl,--default-symver \
		-Wl,-Bsymbolic -o $@ $<

$(HOOKED)/plugin.so: test/unit/fake_hooked_plugin.c $(HOOKED)/libcuda.so.1
	$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -Wl,-rpath,'$$ORIGIN' -o $@ $^

# another file with the same functions: the loader takes it for another library
$(HOOKED)/copy.so: $(B)/lib/libpeerpin-hook.so.1 | $(HOOKED)
	$(CC) $(CFLAGS) $(LDFLAGS) -shared $(subst libpeerpin-hook.so.1,copy.so,$(HOOK_LDFLAGS)) -o $@ $(HOOK_OBJ) \
		-ldl -lpthread

$(B)/bin/vm/%: test/vm/%.c $(B)/lib/libpeerpin.so $(B)/emu/libcuda.so $(B)/emu/libnvidia-ml.so.1 | $(B)/bin/vm
	$(CC) $(CPPFLAGS) $(CFLAGS) -Ikmod/uapi -Ilib/include -Iemu/include -MMD -MP \
		$(LDFLAGS) -o $@ $< -L$(B)/lib -L$(B)/emu -Wl,--as-needed $(VM_LIBS) -lpeerpin -lcuda \
		-l:libnvidia-ml.so.1 -lpthread

# linked before libcuda, as it has to be
VM_HOOKED := $(patsubst %,$(B)/bin/vm/%,t_hook t_watch t_watch_dmabuf)
$(VM_HOOKED): $(B)/lib/libpeerpin-hook.so
$(VM_HOOKED): private override LDFLAGS += -L$(B)/lib -Wl,--no-as-needed -lpeerpin-hook

VM_VERBS := $(patsubst %,$(B)/bin/vm/%,t_verbs verbs_server)
$(VM_VERBS): $(B)/lib/libpeerpin-verbs.so
$(VM_VERBS): private VM_LIBS := -lpeerpin-verbs -libverbs

VM_URING := $(patsubst %,$(B)/bin/vm/%,t_storage_flight t_storage_view)
$(VM_URING): private VM_LIBS := -luring

VM_JSON := $(patsubst %,$(B)/bin/vm/%,t_topo t_topo_replay)
$(VM_JSON): private override LDFLAGS += -Wl,--no-as-needed -ljson-c

$(B)/obj/test $(B)/bin/test $(B)/bin/test/fake $(B)/bin/test/fake/hooked $(B)/bin/test/fake/vendor $(B)/bin/vm:
	mkdir -p $@

-include $(wildcard $(B)/obj/test/*.d $(B)/bin/vm/*.d)
