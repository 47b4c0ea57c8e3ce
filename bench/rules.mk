# SPDX-License-Identifier: MIT
# bench/X.c becomes $(B)/bin/bench/X; all include bench/bench.h. The benchmark of the registration cache has several
# objects, and baselines with which the cache is compared.
BENCH_SRC := $(wildcard bench/*.c)
BENCH_BIN := $(BENCH_SRC:bench/%.c=$(B)/bin/bench/%)

BENCH_CACHE_OBJ := $(patsubst bench/%.c,$(B)/obj/bench/%.o,$(wildcard bench/cache/*.c bench/baseline/*.c))

USER_TARGETS += $(BENCH_BIN)

$(B)/bin/bench/cache: $(BENCH_CACHE_OBJ)
$(B)/bin/bench/cache: BENCH_OBJ := $(BENCH_CACHE_OBJ) -lm -Wl,-rpath,'$$ORIGIN/../../lib'
$(B)/bin/bench/fabric: | $(B)/bin/vm/fi_client $(B)/lib/libpeerpin-fi.so.1
$(B)/bin/bench/monitor: $(B)/obj/fi/subs.o $(B)/obj/lib/cuda/process.o
$(B)/bin/bench/monitor: BENCH_OBJ := $(B)/obj/fi/subs.o $(B)/obj/lib/cuda/process.o -Wl,-rpath,'$$ORIGIN/../../lib'
$(B)/bin/bench/rdma: BENCH_OBJ := -libverbs

$(B)/obj/bench/%.o: bench/%.c | $(B)/obj/bench/cache $(B)/obj/bench/baseline
	$(CC) $(CPPFLAGS) $(CFLAGS) -Ilib/include -MMD -MP -c -o $@ $<

$(B)/bin/bench/%: bench/%.c $(B)/lib/libpeerpin.so $(B)/emu/libcuda.so | $(B)/bin/bench
	$(CC) $(CPPFLAGS) $(CFLAGS) -Ilib/include -Iemu/include -MMD -MP \
		$(LDFLAGS) -o $@ $< $(BENCH_OBJ) -L$(B)/lib -L$(B)/emu -Wl,--as-needed -lpeerpin -lcuda -lpthread

$(B)/bin/bench $(B)/obj/bench/cache $(B)/obj/bench/baseline:
	mkdir -p $@

-include $(wildcard $(B)/bin/bench/*.d) $(BENCH_CACHE_OBJ:.o=.d)
