// The scheduler behind emulator.h: runs the threads of a launch and lets them meet.
//
// A block's threads run in turn on stacks of their own, switched by a few instructions; nothing is ever concurrent, so a
// launch of 512 threads takes some 100 us. Blocks run one after another; a block whose threads all spin (`emu_yield`)
// lets the next ones start, so that a barrier of the whole grid and a look at an earlier block's result work, too.
//
// Sanitizers: this file tells them of the switches. The thread sanitizer takes fibers for threads that run at any time and
// is told what orders memory, as CUDA has it: barriers and __syncwarp do, fences do with each other, votes, shuffles and
// atomics do not, volatile accesses are not looked at. So it finds races whatever the order in which the fibers ran.
//
// Waiting: a thread notes what it waits for; whoever comes last checks that all agree, computes everybody's result and
// makes all ready. When nobody is ready and nobody spins, the launch is stuck, and the message names who waits for whom.
#define EMULATOR_RUNTIME
#include "emulator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

typedef unsigned long long u64;

constexpr size_t STACK = 64 << 10;
constexpr long SPINS = 200000;    // rounds in which all that runs only spins
constexpr int PATIENCE = 120;     // seconds that a launch may take
constexpr char GARBAGE = '\xa5';  // what shared memory holds at first

// ---- sanitizers -----------------------------------------------------------------------------------------------------
#ifdef EMULATE_THREAD
extern "C" {
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned);
void __tsan_destroy_fiber(void*);
void __tsan_switch_to_fiber(void*, unsigned);
void __tsan_acquire(void*);
void __tsan_release(void*);
}
void release(void* order) { __tsan_release(order); }  // what this thread did comes before ...
void acquire(void* order) { __tsan_acquire(order); }  // ... what that one does
#else
void release(void*) {}
void acquire(void*) {}
#endif
#ifdef EMULATE_ADDRESS
extern "C" {
void __sanitizer_start_switch_fiber(void**, const void*, size_t);
void __sanitizer_finish_switch_fiber(void*, const void**, size_t*);
void __asan_poison_memory_region(const void volatile*, size_t);
void __asan_unpoison_memory_region(const void volatile*, size_t);
}
#endif

const char* const NAMES[] = {
    "__syncwarp", "__ballot_sync", "__any_sync", "__all_sync", "__shfl_sync", "__shfl_up_sync", "__shfl_down_sync",
    "__shfl_xor_sync", "__match_any_sync", "__match_all_sync", "__reduce_add_sync", "__reduce_min_sync",
    "__reduce_max_sync", "__reduce_min_sync", "__reduce_max_sync", "__reduce_and_sync", "__reduce_or_sync",
    "__reduce_xor_sync", "__syncthreads", "__syncthreads_or", "__syncthreads_and", "__syncthreads_count"};

enum State { READY, SPINS_NOW, AT_WARP, AT_BLOCK, GONE };

struct Block;

struct Thread {
    EmuSelf self;
    State state;
    Block* block;
    int number;
    EmuKind kind;  // what it waits at, from here on
    int line, argument, width;
    unsigned mask;
    u64 value, result;
    void* stack_pointer;
    bool spun;  // it came from emu_yield
    void* fiber;  // the sanitizer's
    long meeting;  // number of the barrier that it is at
    unsigned lane() const { return number & 31; }
    unsigned bit() const { return 1u << lane(); }
};

struct Warp {
    unsigned exist, gone, waiting;  // lanes
    long meetings;                  // of the whole warp, so far
    char order[2];                  // what orders memory at even and odd meetings
};

struct Block {
    int number, size, gone, at_barrier;
    std::vector<Thread> threads;
    std::vector<Warp> warps;
    std::vector<char> dynamic;  // extern __shared__ of blocks 2k and 2k + 1; that of 2k has it
    char* room;                 // this block's
    void (*run)(const void*);
    std::vector<char> saved;  // static shared memory while another block runs
    char* stacks = nullptr;
    int stack_count = 0;
    long meetings;
    char order[2];
    long met;  // cluster barriers that all threads have come to
    Warp& warp_of(const Thread& t) { return warps[t.number >> 5]; }
    Thread& lane_of(const Thread& t, int lane) { return threads[(t.number & ~31) + lane]; }
};

struct Launch {
    const char* name = "";
    const void* args;
    int grid, size;
    unsigned shared_bytes;
    std::atomic<bool> failed{false};
    char message[1000];
    char begin, end;  // what orders memory then
};
Launch launch;
std::vector<Block*> started;  // blocks of the launch, by number
char cluster_order;
std::atomic<long> launches{0};
std::atomic<bool> busy{false};

[[noreturn]] void stop(Thread& t);

// Keeps the first message of a launch; all threads will stop.
__attribute__((format(printf, 2, 3))) void note(const Thread* t, const char* format, ...) {
    static std::mutex lock;
    std::lock_guard<std::mutex> guard(lock);
    if (launch.failed) return;
    const size_t room = sizeof launch.message;
    int at = snprintf(launch.message, room, "kernel %s", launch.name);
    if (t) at += snprintf(launch.message + at, room - at, ", block %d, thread %d", t->block->number, t->number);
    at += snprintf(launch.message + at, room - at, ": ");
    va_list values;
    va_start(values, format);
    vsnprintf(launch.message + at, room - at, format, values);
    va_end(values);
    launch.failed = true;
}

#define FAIL(t, ...)         \
    do {                     \
        note(&(t), __VA_ARGS__); \
        stop(t);             \
    } while (0)

// What a thread does, in words.
void describe(const Thread& t, char* text, size_t room) {
    switch (t.state) {
        case GONE: snprintf(text, room, "has left the kernel"); break;
        case AT_WARP: snprintf(text, room, "waits at %s (line %d, mask %08x)", NAMES[t.kind], t.line, t.mask); break;
        case AT_BLOCK: snprintf(text, room, "waits at %s (line %d)", NAMES[t.kind], t.line); break;
        default: snprintf(text, room, "runs");
    }
}

bool same_place(const Thread& s, const Thread& t) { return s.state == t.state && s.kind == t.kind && s.line == t.line && s.mask == t.mask; }

void say_apart(const Thread& t, const Thread& other) {
    char here[120], there[120];
    describe(t, here, sizeof here);
    describe(other, there, sizeof there);
    note(&t, "%s, but thread %d %s", here, other.number, there);
}

// Nobody of the block can go on: who waits for whom?
void say_stuck(Block& block) {
    for (Thread& t : block.threads) {
        if (t.state != AT_WARP && t.state != AT_BLOCK) continue;
        for (Thread& other : block.threads) {
            const bool wanted = t.state == AT_BLOCK || (other.number >> 5 == t.number >> 5 && t.mask & other.bit());
            if (wanted && !same_place(t, other)) return say_apart(t, other);
        }
    }
    note(nullptr, "block %d: nobody can go on", block.number);
}

// ---- what meeting threads get -------------------------------------------------------------------------------------
u64 shuffled(Block& block, Thread& t) {
    const int lane = t.lane(), base = lane & ~(t.width - 1), last = base + t.width - 1;
    int source = lane;
    if (t.kind == EMU_SHFL) source = base + (t.argument & (t.width - 1));
    if (t.kind == EMU_SHFL_UP && lane - t.argument >= base) source = lane - t.argument;
    if (t.kind == EMU_SHFL_DOWN && lane + t.argument <= last) source = lane + t.argument;
    if (t.kind == EMU_SHFL_XOR && (lane ^ t.argument) <= last) source = lane ^ t.argument;
    if (!(t.mask >> source & 1))
        FAIL(t, "%s (line %d, mask %08x) reads from lane %d, which is not in the mask", NAMES[t.kind], t.line, t.mask, source);
    return block.lane_of(t, source).value;
}

u64 reduced(EmuKind kind, u64 x, u64 y) {
    switch (kind) {
        case EMU_BALLOT: case EMU_ANY: case EMU_OR: return x | y;
        case EMU_ALL: case EMU_AND: return x & y;
        case EMU_XOR: return x ^ y;
        case EMU_ADD: return x + y;
        case EMU_MIN: return (int)x < (int)y ? x : y;
        case EMU_MAX: return (int)x > (int)y ? x : y;
        case EMU_UMIN: return (unsigned)x < (unsigned)y ? x : y;
        default: return (unsigned)x > (unsigned)y ? x : y;
    }
}

void exchange(Block& block, Thread& t) {
    const EmuKind kind = t.kind;
    Thread* lanes[32] = {};
    int count = 0;
    for (unsigned rest = t.mask; rest; rest &= rest - 1) lanes[count++] = &block.lane_of(t, __builtin_ctz(rest));
    if (kind == EMU_SYNCWARP) return;
    if (kind >= EMU_SHFL && kind <= EMU_SHFL_XOR) {
        for (int k = 0; k < count; k++) lanes[k]->result = shuffled(block, *lanes[k]);
    } else if (kind == EMU_MATCH_ANY || kind == EMU_MATCH_ALL) {
        for (int k = 0; k < count; k++) {
            unsigned equal = 0;
            for (int j = 0; j < count; j++) equal |= lanes[j]->value == lanes[k]->value ? lanes[j]->bit() : 0;
            lanes[k]->result = kind == EMU_MATCH_ANY || equal == t.mask ? equal : 0;
        }
    } else {
        u64 total = kind == EMU_BALLOT ? lanes[0]->value << lanes[0]->lane() : lanes[0]->value;
        for (int k = 1; k < count; k++)
            total = reduced(kind, total, kind == EMU_BALLOT ? lanes[k]->value << lanes[k]->lane() : lanes[k]->value);
        for (int k = 0; k < count; k++) lanes[k]->result = total;
    }
}

// Notes that t has come to a warp intrinsic; true if it was the last, whereupon all are ready.
bool arrive_warp(Block& block, Thread& t) {
    Warp& warp = block.warp_of(t);
    if (!(t.mask & t.bit())) FAIL(t, "%s (line %d): mask %08x leaves out the calling lane", NAMES[t.kind], t.line, t.mask);
    if (t.mask & ~warp.exist)
        FAIL(t, "%s (line %d): mask %08x names lanes that a block of %d threads does not have", NAMES[t.kind], t.line,
             t.mask, block.size);
    if (t.width < 1 || t.width > 32 || t.width & (t.width - 1)) FAIL(t, "%s (line %d): width %d", NAMES[t.kind], t.line, t.width);
    t.state = AT_WARP;
    if (t.mask & warp.gone) {
        say_apart(t, block.lane_of(t, __builtin_ctz(t.mask & warp.gone)));
        stop(t);
    }
    warp.waiting |= t.bit();
    if ((warp.waiting & t.mask) != t.mask) return false;
    for (unsigned rest = t.mask; rest; rest &= rest - 1) {
        Thread& other = block.lane_of(t, __builtin_ctz(rest));
        if (same_place(t, other)) continue;
        say_apart(t, other);
        stop(t);
    }
    exchange(block, t);
    warp.meetings += t.mask == warp.exist;
    warp.waiting &= ~t.mask;
    for (unsigned rest = t.mask; rest; rest &= rest - 1) block.lane_of(t, __builtin_ctz(rest)).state = READY;
    return true;
}

// The same for a barrier of the block.
bool arrive_block(Block& block, Thread& t) {
    t.state = AT_BLOCK;
    t.mask = 0;
    t.meeting = block.meetings;
    release(block.order + t.meeting % 2);
    if (++block.at_barrier < block.size) return false;
    u64 any = 0, count = 0;
    for (Thread& other : block.threads) {
        if (!same_place(t, other)) {
            say_apart(t, other);
            stop(t);
        }
        any |= other.value;
        count += other.value;
    }
    const bool all = count == (u64)block.size;
    for (Thread& other : block.threads) {
        other.result = t.kind == EMU_SYNC_COUNT ? count : t.kind == EMU_SYNC_AND ? all : any;
        other.state = READY;
    }
    block.at_barrier = 0;
    block.meetings++;
    return true;
}

#ifdef EMULATE_ADDRESS
void poison(const void* p, size_t bytes) { __asan_poison_memory_region(p, bytes); }
void unpoison(const void* p, size_t bytes) { __asan_unpoison_memory_region(p, bytes); }
#else
void poison(const void*, size_t) {}
void unpoison(const void*, size_t) {}
#endif

void leave(Block& block, Thread& t) {
    t.state = GONE;
    block.gone++;
    block.warp_of(t).gone |= t.bit();
}

void prepare(Block& block, int number) {
    const int size = launch.size, warps = (size + 31) / 32;
    block.number = number;
    block.size = size;
    block.gone = block.at_barrier = 0;
    block.meetings = block.met = 0;
    if ((int)block.threads.size() != size) block.threads = std::vector<Thread>(size);
    block.warps.assign(warps, {0xffffffffu, 0, 0, 0, {}});
    if (size & 31) block.warps.back().exist = (1u << (size & 31)) - 1;
    // a cluster's shared memory is one, in which nothing may touch what lies between the blocks' own
    const size_t own = (launch.shared_bytes + 15) & ~15ull, between = 64;
    if (number % 2 == 0) {
        unpoison(block.dynamic.data(), block.dynamic.size());
        block.dynamic.assign(2 * (own + between) + 16, GARBAGE);
        block.room = (char*)(((u64)block.dynamic.data() + 15) & ~15ull);
        for (int k = 1; k < 3; k++) poison(block.room + k * (own + between) - between, between);
    } else {
        block.room = started[number - 1]->room + own + between;
    }
    poison(block.room + launch.shared_bytes, own - launch.shared_bytes);
    for (int k = 0; k < size; k++) {
        Thread& t = block.threads[k];
        t.self = {{(unsigned)k, 0, 0}, {(unsigned)number, 0, 0}, {(unsigned)size, 1, 1}, {(unsigned)launch.grid, 1, 1}};
        t.state = READY;
        t.block = &block;
        t.number = k;
    }
}

// A kernel that never ends ends the process, with a message.
void watch() {
    static const bool started = [] {
        std::thread([] {
            long seen = -1;
            for (int seconds = 0;; seconds++) {
                std::this_thread::sleep_for(std::chrono::seconds(1));
                if (!busy || launches != seen) seconds = 0;
                seen = launches;
                if (seconds < PATIENCE) continue;
                fprintf(stderr, "emulator: kernel %s runs since %d seconds; a spin must be bounded\n", launch.name, PATIENCE);
                abort();
            }
        }).detach();
        return true;
    }();
    (void)started;
}

void set_wait(Thread& t, EmuKind kind, unsigned mask, u64 value, int argument, int width, int line) {
    t.kind = kind;
    t.mask = mask;
    t.value = value;
    t.argument = argument;
    t.width = width;
    t.line = line;
    t.result = 0;
}

// ---- fibers ---------------------------------------------------------------------------------------------------------
Thread* running = nullptr;
void* scheduler = nullptr;  // its stack pointer while a fiber runs

extern "C" void emu_switch(void** from, void* to);
#if defined(__x86_64__)
asm(R"(
.text
emu_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    popq %rcx
    jmpq *%rcx  # a `ret` would always be mispredicted
)");
constexpr int SAVED_WORDS = 6;
constexpr int ENTRY_WORD = 6;  // where to go on
#elif defined(__aarch64__)
asm(R"(
.text
emu_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
)");
constexpr int SAVED_WORDS = 20;
constexpr int ENTRY_WORD = 11;  // x30
#else
#error "emulator: stack switching is written for x86-64 and aarch64"
#endif

// Between fibers, with what sanitizers want to know.
#if defined(EMULATE_THREAD)
void* main_fiber;
void to_fiber(Thread& t) {
    __tsan_switch_to_fiber(t.fiber, 1);  // 1: the switch orders nothing
    emu_switch(&scheduler, t.stack_pointer);
}
void to_scheduler(Thread& t) {
    __tsan_switch_to_fiber(main_fiber, 1);
    emu_switch(&t.stack_pointer, scheduler);
}
void begin_fiber() { acquire(&launch.begin); }
#elif defined(EMULATE_ADDRESS)
const void* main_stack;
size_t main_stack_size;
void to_fiber(Thread& t) {
    void* kept;
    __sanitizer_start_switch_fiber(&kept, t.block->stacks + t.number * STACK, STACK);
    emu_switch(&scheduler, t.stack_pointer);
    __sanitizer_finish_switch_fiber(kept, nullptr, nullptr);
}
void to_scheduler(Thread& t) {
    __sanitizer_start_switch_fiber(t.state == GONE ? nullptr : &t.fiber, main_stack, main_stack_size);
    emu_switch(&t.stack_pointer, scheduler);
    __sanitizer_finish_switch_fiber(t.fiber, &main_stack, &main_stack_size);
}
void begin_fiber() { __sanitizer_finish_switch_fiber(nullptr, &main_stack, &main_stack_size); }
#else
void to_fiber(Thread& t) { emu_switch(&scheduler, t.stack_pointer); }
void to_scheduler(Thread& t) { emu_switch(&t.stack_pointer, scheduler); }
void begin_fiber() {}
#endif

[[noreturn]] void stop(Thread& t) {
    to_scheduler(t);  // which never comes back
    abort();
}

void fiber() {
    begin_fiber();
    running->block->run(launch.args);
    leave(*running->block, *running);
    release(&launch.end);
    to_scheduler(*running);
}

void make_fibers(Block& block) {
    if (block.stack_count < block.size) {
        if (block.stacks) munmap(block.stacks, block.stack_count * STACK);
        block.stacks = (char*)mmap(nullptr, block.size * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        block.stack_count = block.size;
        for (int k = 0; k < block.size; k++) mprotect(block.stacks + k * STACK, 4096, PROT_NONE);  // an overflow faults
    }
#ifdef EMULATE_ADDRESS
    __asan_unpoison_memory_region(block.stacks, block.size * STACK);
#endif
    for (Thread& t : block.threads) {
#ifdef EMULATE_THREAD
        t.fiber = __tsan_create_fiber(0);
#endif
        char* end = block.stacks + (t.number + 1) * STACK - t.number % 61 * 256;  // not all in the same cache lines
        void** top = (void**)end - 4 - SAVED_WORDS;
        memset(top, 0, (SAVED_WORDS + 4) * sizeof(void*));
        top[ENTRY_WORD] = (void*)fiber;
        t.stack_pointer = top;
        t.spun = false;
    }
}

// Runs every thread of a block as far as it comes; false if they did nothing but spin.
bool run(Block& block) {
    bool moved = false, again = true;
    for (Thread& t : block.threads)
        if (t.state == SPINS_NOW) t.state = READY;
    while (again && !launch.failed) {
        again = false;
        for (Thread& t : block.threads) {
            if (t.state != READY) continue;
            running = &t;
            emu_self = &t.self;
            to_fiber(t);
            if (launch.failed) return true;
            if (t.state == SPINS_NOW && t.spun) continue;
            t.spun = t.state == SPINS_NOW;
            moved = again = true;
        }
    }
    if (!moved && block.gone < block.size) {
        for (Thread& t : block.threads)
            if (t.state == SPINS_NOW) return false;
    }
    return moved;
}

bool can_go_on(const Block& block) {
    for (const Thread& t : block.threads)
        if (t.state == SPINS_NOW || t.state == READY) return true;
    return false;
}

// Static shared memory is one place; it holds the memory of the block that runs. (Sanitized, each block has a library.)
const EmuKernel* code = nullptr;
Block* owner = nullptr;
void own_shared(Block& block, bool fresh) {
    const size_t size = code->shared_end - code->shared;
    if (owner && owner != &block) owner->saved.assign(code->shared, code->shared_end);
    if (fresh) memset(code->shared, GARBAGE, size);
    else if (owner != &block) memcpy(code->shared, block.saved.data(), size);
    owner = &block;
}

void run_blocks(const EmuKernel* const* copies, int count) {
    code = copies[0];
#ifdef EMULATE_THREAD
    main_fiber = __tsan_get_current_fiber();
#endif
    release(&launch.begin);
    static std::vector<std::unique_ptr<Block>> pool;
    std::vector<Block*> active;
    std::vector<std::unique_ptr<Block>> used;
    int next = 0;
    long idle = 0;
    bool moved = false;
    owner = nullptr;
    started.clear();
    while (!launch.failed && (next < launch.grid || !active.empty())) {
        if (next < launch.grid && !moved) {
            if (pool.empty()) pool.push_back(std::make_unique<Block>());
            used.push_back(std::move(pool.back()));
            pool.pop_back();
            Block* block = used.back().get();
            block->run = copies[next % count]->run;
            prepare(*block, next++);
            started.push_back(block);
            make_fibers(*block);
            own_shared(*block, true);
            active.push_back(block);
            run(*block);
            moved = true;
        } else {
            moved = false;
            for (Block* block : active) {
                own_shared(*block, false);
                moved |= run(*block);
                if (launch.failed) break;
            }
        }
        for (size_t k = 0; k < active.size() && !launch.failed;) {
            if (active[k]->gone == active[k]->size) {
                if (owner == active[k]) owner = nullptr;
                active.erase(active.begin() + k);
                moved = false;  // the next block may start
                idle = 0;
            } else {
                if (!can_go_on(*active[k])) say_stuck(*active[k]);
                k++;
            }
        }
        idle = moved ? 0 : idle + 1;
        if (idle > SPINS && next == launch.grid && !active.empty() && !launch.failed) {
            for (Thread& t : active[0]->threads)
                if (t.state == SPINS_NOW) {
                    note(&t, "spins without end (__nanosleep)");
                    break;
                }
        }
    }
    acquire(&launch.end);
    for (auto& block : used) {
#ifdef EMULATE_THREAD
        for (Thread& t : block->threads) __tsan_destroy_fiber(t.fiber);
#endif
        pool.push_back(std::move(block));
    }
}

}  // namespace

// ---- what kernels call ----------------------------------------------------------------------------------------------------
extern "C" {
EmuSelf* emu_self = nullptr;

unsigned long long emu_warp(EmuKind kind, unsigned mask, unsigned long long value, int argument, int width, int line) {
    Thread& t = *running;
    Block& block = *t.block;
    Warp& warp = block.warp_of(t);
    set_wait(t, kind, mask, value, argument, width, line);
    const bool orders = kind == EMU_SYNCWARP, whole = mask == warp.exist;
    t.meeting = warp.meetings;
    if (orders) release(whole ? (void*)(warp.order + t.meeting % 2) : &t);
    if (!arrive_warp(block, t)) to_scheduler(t);
    if (orders && whole) acquire(warp.order + t.meeting % 2);
    for (unsigned rest = orders && !whole ? mask : 0; rest; rest &= rest - 1) acquire(&block.lane_of(t, __builtin_ctz(rest)));
    return t.result;
}

int emu_block(EmuKind kind, int predicate, int line) {
    Thread& t = *running;
    set_wait(t, kind, 0, predicate != 0, 0, 32, line);
    if (!arrive_block(*t.block, t)) to_scheduler(t);
    acquire(t.block->order + t.meeting % 2);
    return (int)t.result;
}

void emu_fence() {
    static char order;
    acquire(&order);
    release(&order);
}

void emu_yield() {
    running->state = SPINS_NOW;
    to_scheduler(*running);
}

#ifdef EMULATE_THREAD
// What the compiler makes of volatile accesses.
#define EMU_VOLATILE(size)                       \
    void __tsan_volatile_read##size(void*) {}    \
    void __tsan_volatile_write##size(void*) {}   \
    void __tsan_unaligned_volatile_read##size(void*) {} \
    void __tsan_unaligned_volatile_write##size(void*) {}
EMU_VOLATILE(1) EMU_VOLATILE(2) EMU_VOLATILE(4) EMU_VOLATILE(8) EMU_VOLATILE(16)
#endif

void emu_trap(const char* what, int line) { FAIL(*running, "%s (line %d)", what, line); }

void* emu_shared_memory() { return running->block->room; }

unsigned emu_cluster_rank() { return running->block->number % 2; }

// The other block of the cluster, if it runs.
static Block* other_block() {
    const unsigned number = running->block->number ^ 1;
    if (number >= (unsigned)launch.grid) FAIL(*running, "%d blocks are no clusters of two", launch.grid);
    Block* block = number < started.size() ? started[number] : nullptr;
    return block && block->gone < block->size ? block : nullptr;
}

void emu_cluster_sync() {
    Thread& t = *running;
    release(&cluster_order);
    emu_block(EMU_SYNC, 0, __LINE__);
    if (t.number == 0) t.block->met++;
    emu_block(EMU_SYNC, 0, __LINE__);
    const long met = t.block->met;
    for (Block* other = other_block(); !other || other->met < met; other = other_block()) {
        if (!other && (unsigned)(t.block->number ^ 1) < started.size()) break;  // it has left: it met us before
        emu_yield();
    }
    acquire(&cluster_order);
    emu_block(EMU_SYNC, 0, __LINE__);
}

const void* emu_cluster_shared(const void* own, int rank) {
    Block& block = *running->block;
    if (rank == block.number % 2) return own;
    Block* other = other_block();
    if (!other) FAIL(*running, "the other block of the cluster has ended (or has not begun): its shared memory is gone");
    return other->room + ((const char*)own - block.room);
}

long long emu_clock() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

// ---- what Python calls --------------------------------------------------------------------------------------------------

// Runs a kernel, block k by copy k (modulo `count`). 0, or 1 and a message.
int emu_launch(const EmuKernel* const* copies, int count, int grid, int block, unsigned shared_bytes, const void* args,
               char* message, int room) {
    static std::mutex one_at_a_time;
    std::lock_guard<std::mutex> guard(one_at_a_time);
    launch.name = copies[0]->name;
    launch.args = args;
    launch.grid = grid;
    launch.size = block;
    launch.shared_bytes = shared_bytes;
    launch.failed = false;
    if (grid < 1 || block < 1 || block > 1024) {
        note(nullptr, "%d blocks of %d threads: wanted at least 1, and at most 1024 threads", grid, block);
    } else {
        watch();
        launches++;
        busy = true;
        run_blocks(copies, count);
        busy = false;
    }
    if (launch.failed) snprintf(message, room, "%s", launch.message);
    return launch.failed;
}
}
