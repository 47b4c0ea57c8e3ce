# SPDX-License-Identifier: MIT
# The hook is linked before libcuda.so.1, which it wraps. This libcuda.so.1 is a stub with only the measured functions.
$(B)/bin/bench/hook: bench/hook.c $(B)/lib/libpeerpin-hook.so $(B)/bin/bench/driver/libcuda.so.1
	$(CC) $(CPPFLAGS) $(CFLAGS) -Ilib/include -MMD -MP $(LDFLAGS) \
		-Wl,-rpath,'$$ORIGIN/../../lib:$$ORIGIN/driver' -o $@ $< $(B)/lib/libpeerpin-hook.so \
		$(B)/bin/bench/driver/libcuda.so.1

$(B)/bin/bench/driver/libcuda.so.1: bench/hook/driver.c | $(B)/bin/bench/driver
	$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -Wl,-soname,libcuda.so.1 -o $@ $<

$(B)/bin/bench/driver: | $(B)/bin/bench
	mkdir -p $@
