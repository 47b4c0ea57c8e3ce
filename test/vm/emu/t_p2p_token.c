// SPDX-License-Identifier: MIT
/* Tokens: a process that knows the tokens of a context may pin the context's memory. */
#include "p2p.h"

/* The context of the parent. A forked child knows its tokens, like any process that received them. */
static struct emugpu_context_new ctx;

/* Make a context, and allocate a block in it at VA. */
static void context_and_block(void)
{
	EXPECT(emu_context(fd, &ctx) == 0, "context");
	EXPECT(emu_alloc_in(fd, ctx.out_context, VA, BLOCK) == 0, "alloc");
}

static void drop_and_free(void)
{
	EXPECT(emu_drop(fd, ctx.out_context) == 0, "drop");
	free_one();
}

SETUP(nodes_are_there)
{
	EXPECT_NODES();
}

CASE(wrong_token_is_einval)
{
	context_and_block();
	CHECK_CASE();
	EXPECT(get_token(0, ctx.out_p2p_token + 1, ctx.out_va_space, VA, PAGE) == -EINVAL, "token");
	EXPECT(get_token(0, ctx.out_p2p_token, ctx.out_va_space + 1, VA, PAGE) == -EINVAL, "va_space");
	EXPECT(get_token(0, 1, 0, VA, PAGE) == -EINVAL, "token 1");
	EXPECT(get_token(0, 0, ctx.out_va_space + 1, VA, PAGE) == -EINVAL, "va_space without token");
	EXPECT(get_token(0, ctx.out_p2p_token, ctx.out_va_space, VA + BLOCK, PAGE) == -EINVAL, "other memory");
	EXPECT(get_token(0, ctx.out_p2p_token, ctx.out_va_space, VA, 2 * BLOCK) == -EINVAL, "get past the block");
	EXPECT(pins() == 0, "%u pins", pins());
	drop_and_free();
}

CASE(right_token_lets_its_process_pin)
{
	rules_watch(fd);
	context_and_block();
	CHECK_CASE();
	EXPECT(get_token(0, ctx.out_p2p_token, ctx.out_va_space, VA, PAGE) == 0, "both");
	EXPECT(put_token(0, ctx.out_p2p_token, ctx.out_va_space) == 0 && pins() == 0, "%u pins", pins());
	EXPECT(get_token(0, ctx.out_p2p_token, 0, VA, PAGE) == 0, "token alone");
	EXPECT(put_token(0, ctx.out_p2p_token, 0) == 0 && pins() == 0, "%u pins", pins());
	EXPECT(get_token(0, 0, ctx.out_va_space, VA, PAGE) == 0, "va_space alone");
	EXPECT(put_token(0, 0, ctx.out_va_space) == 0 && pins() == 0, "%u pins", pins());
	EXPECT(get(0, VA, PAGE) == 0 && put(0) == 0, "no token");
	EXPECT_NO_BREACH(fd);
	drop_and_free();
}

static int pin_by_token(void)
{
	struct emugpu_context_new *c = &ctx;

	if (get(0, VA, PAGE) != -EINVAL)
		return 1;
	if (get_token(0, 0, c->out_va_space, VA, PAGE) != -EINVAL)
		return 2;
	if (get_token(0, c->out_p2p_token, c->out_va_space, VA, 2 * PAGE))
		return 3;
	return 0;
}

static int put_by_token(void)
{
	return put_token(0, ctx.out_p2p_token, ctx.out_va_space);
}

CASE(right_token_lets_any_process_pin)
{
	struct emugpu_test test;
	int status;

	rules_watch(fd);
	context_and_block();
	CHECK_CASE();
	status = emu_in_child(pin_by_token);
	EXPECT(status == 0, "child: %d", status);
	EXPECT(pins() == 1 && emu_translate(fd, VA, &test) == 0, "%u pins", pins());
	EXPECT(table_page(0, 0).out_phys == test.translate.out_phys, "the child pinned other memory");
	EXPECT(emu_in_child(put_by_token) == 0 && pins() == 0, "%u pins", pins());
	EXPECT_NO_BREACH(fd);
	drop_and_free();
}

CASE(free_revokes_another_processs_pin)
{
	rules_watch(fd);
	context_and_block();
	CHECK_CASE();
	EXPECT(emu_in_child(pin_by_token) == 0 && pins() == 1, "child");
	EXPECT(callback(0).out_count == 0, "%u", callback(0).out_count);
	drop_and_free();
	EXPECT(callback(0).out_count == 1, "%u", callback(0).out_count);
	EXPECT(callback(0).out_tid == (unsigned int)gettid(), "in thread %u", callback(0).out_tid);
	EXPECT_NO_BREACH(fd);
}

CASE(put_with_wrong_token_is_ignored)
{
	rules_watch(fd);
	context_and_block();
	CHECK_CASE();
	EXPECT(get_token(0, ctx.out_p2p_token, ctx.out_va_space, VA, PAGE) == 0, "get");
	EXPECT(put(0) == 0 && pins() == 1, "%u pins", pins());
	EXPECT(put_token(0, ctx.out_p2p_token + 1, 0) == 0 && pins() == 1, "%u pins", pins());
	EXPECT_BROKE(fd, EMUGPU_RULE_PUT_BY_OTHER_PROCESS, 2);
	drop_and_free();
}

CASE(tokens_are_random_per_context)
{
	struct emugpu_context_new other;

	EXPECT(emu_context(fd, &ctx) == 0 && emu_context(fd, &other) == 0, "context");
	EXPECT(ctx.out_p2p_token && other.out_p2p_token && ctx.out_va_space && other.out_va_space, "a token of 0");
	EXPECT(ctx.out_p2p_token != other.out_p2p_token && ctx.out_va_space != other.out_va_space,
	       "two contexts have equal tokens");
	EXPECT(ctx.out_p2p_token + 1 != other.out_p2p_token, "tokens are sequential: %#llx", ctx.out_p2p_token);
	EXPECT(ctx.out_p2p_token >> 32 && other.out_p2p_token >> 32, "%#llx has fewer than 33 bits", ctx.out_p2p_token);
	EXPECT(emu_drop(fd, ctx.out_context) == 0 && emu_drop(fd, other.out_context) == 0, "drop");
}

CASE(token_pins_only_its_context)
{
	struct emugpu_context_new other;

	context_and_block();
	CHECK_CASE();
	EXPECT(emu_context(fd, &other) == 0, "context");
	EXPECT(emu_alloc_in(fd, other.out_context, VA + BLOCK, BLOCK) == 0, "alloc");
	EXPECT(get_token(0, ctx.out_p2p_token, 0, VA + BLOCK, PAGE) == -EINVAL, "memory of the other context");
	EXPECT(get_token(0, other.out_p2p_token, 0, VA, PAGE) == -EINVAL, "token of the other context");
	EXPECT(get_token(0, ctx.out_p2p_token, other.out_va_space, VA, PAGE) == -EINVAL,
	       "p2p token and va_space of different contexts");
	EXPECT(get_token(0, other.out_p2p_token, 0, VA + BLOCK, PAGE) == 0, "the other context's own memory");
	EXPECT(put_token(0, other.out_p2p_token, 0) == 0, "put");
	EXPECT(emu_drop(fd, other.out_context) == 0 && emu_free(fd, VA + BLOCK) == 0, "drop, free");
	drop_and_free();
}

CASE(reused_address_needs_the_new_token)
{
	struct emugpu_context_new old;

	context_and_block();
	CHECK_CASE();
	old = ctx;
	EXPECT(emu_free(fd, VA) == 0, "free");
	context_and_block();
	CHECK_CASE();
	EXPECT(get_token(0, old.out_p2p_token, old.out_va_space, VA, PAGE) == -EINVAL, "tokens of the old context");
	EXPECT(get_token(0, ctx.out_p2p_token, ctx.out_va_space, VA, PAGE) == 0, "tokens of the new context");
	EXPECT(emu_drop(fd, old.out_context) == 0, "drop");
	drop_and_free();
}

/* A context lasts as long as a block that was allocated in it. */
CASE(token_dies_with_its_context)
{
	context_and_block();
	CHECK_CASE();
	EXPECT(emu_drop(fd, ctx.out_context) == 0, "drop");
	EXPECT(get_token(0, ctx.out_p2p_token, 0, VA, PAGE) == 0, "token of a dropped context with a block");
	EXPECT(put_token(0, ctx.out_p2p_token, 0) == 0, "put");
	EXPECT(emu_alloc_in(fd, ctx.out_context, VA + BLOCK, BLOCK) == -ENOENT, "allocation in a dropped context");
	free_one();
	CHECK_CASE();
	EXPECT(get_token(0, ctx.out_p2p_token, 0, VA, PAGE) == -EINVAL, "token after the last block");
	one_block();
	CHECK_CASE();
	EXPECT(get_token(0, ctx.out_p2p_token, 0, VA, PAGE) == -EINVAL, "token for a block without context");
	free_one();
}

CASE(memory_without_context_has_no_token)
{
	EXPECT(emu_context(fd, &ctx) == 0, "context");
	one_block();
	CHECK_CASE();
	EXPECT(get_token(0, ctx.out_p2p_token, ctx.out_va_space, VA, PAGE) == -EINVAL, "token");
	EXPECT(get_token(0, 0, ctx.out_va_space, VA, PAGE) == -EINVAL, "va_space");
	drop_and_free();
}

VMTEST_MAIN
