package io.waybill.host.agent;

import io.waybill.host.Clock;
import io.waybill.host.Threads;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongPredicate;
import org.agrona.concurrent.AgentTerminationException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the threads of one worker, or of several in this JVM, one at a time: each goes on until it waits, or, in the code of polling, until it
 * is preempted, and gives the turn to one whose wait is over. A {@link Schedule} decides which that is, and how the time passes, so that the
 * same schedule gives the same history.
 *
 * <p>Each has a stack of its own, and its thread-locals, monitors and interrupts are those of the JVM. What a thread does between two waits
 * outside of that code, no other one sees half done.
 *
 * <p><b>Threads.</b> The thread that creates it is the program. It and the threads that it starts here call its groups, and the workers on
 * them; the program alone calls the rest. <b>Ownership.</b> Its creator closes it, which ends those that were abandoned.
 *
 * <p><b>Limits.</b> A thread that waits here must not hold a lock, other than the monitor of {@link Threads#waitOn}, that another one takes
 * by the JVM's own means: that one has the turn and can't give it away. Half a minute later the program throws, and says who it is.
 *
 * <p><b>Errors.</b> What a thread throws is logged, and ends it alone. The program's wait throws an {@link IllegalStateException} when nothing
 * can ever end it, or when who has the turn does not give it back, and what the schedule throws.
 */
public final class Invoker implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Invoker.class);

    /** Chooses what runs, and says how the time passes. */
    public interface Schedule {

        /** Returns which of so many threads has the next turn. */
        int next(int due);

        /** Lets the time pass, at most until then on the monotonic clock: no thread is due. */
        void rest(long untilNs);

        /** Lets the time of one look pass in a loop that waits by looking. */
        void spin();

        /** Returns whether a thread that does not wait gives others a turn. */
        default boolean preempts() {
            return false;
        }
    }

    /** Of a thread that spins, before others have turns: they cost more than its look. */
    private static final int MAX_SPINS = 128;

    private static final long LOOK_NS = 5_000_000_000L; // in real time
    private static final int MAX_LOOKS = 6; // at one turn
    private static final StackWalker STACK = StackWalker.getInstance();
    private static final LongPredicate NOTHING = ns -> false;

    private final Clock clock;
    private final Schedule schedule;
    private final Role program = new Role(null, () -> {}, Thread.currentThread());
    private final List<Role> roles = new ArrayList<>(); // without the program, in the order of their starts
    private final List<Role> abandoned = new ArrayList<>();
    private final Map<Thread, Role> byThread = new IdentityHashMap<>();
    private volatile Role current = program; // has the turn; all other fields are its own to change
    private volatile long turns;
    private long changes; // how often something may have changed that threads wait for on a monitor
    private int steps; // until the program goes on, while it steps
    private long stepNs; // the longest rest meanwhile
    private boolean stepping;
    private Throwable failure; // of the schedule; the program throws it

    /** A thread that has turns, and what it waits for while it has none. */
    private final class Role {
        private final Group group; // null for the program
        private final Runnable body;
        private final Thread thread;
        private boolean started;
        private boolean unparked;
        private volatile boolean interrupted; // set by itself before it clears the thread's mark
        private boolean isOver; // its wait, as its look has found
        private boolean canBeUnparked;
        private long untilNs;
        private LongPredicate look = NOTHING;
        private Object monitor; // that it waits on; null for none
        private long changesSeen;
        private int spins;
        private Role giver; // of its first turn, which it gives back when it waits or ends; null for none

        Role(Group group, Runnable body, Thread thread) {
            this.group = group;
            this.body = body;
            this.thread = thread == null ? new Thread(this::run) : thread;
        }

        boolean isDue() {
            if (!started || canBeUnparked && unparked || isPast(untilNs)) {
                return true;
            }
            if (!isOver) {
                isOver = interrupted || thread.isInterrupted() || monitor != null && changesSeen != changes || looks();
            }
            return isOver;
        }

        private boolean looks() {
            try {
                return look.test(0);
            } catch (RuntimeException e) { // as it will throw for who waits, in its own turn
                return true;
            }
        }

        private void run() {
            try {
                awaitTurn(this);
                body.run();
            } catch (AgentTerminationException e) {
                LOG.debug("{} ends with its group", thread.getName());
            } catch (Throwable e) { // as of any thread: the others go on
                LOG.error("{} ends", thread.getName(), e);
            } finally {
                roles.remove(this);
                byThread.remove(thread);
                changes++;
                pass(group.abandoned ? program : choose(this));
            }
        }
    }

    /** Lets the calling thread be the program. */
    public Invoker(Clock clock, Schedule schedule) {
        this.clock = clock;
        this.schedule = schedule;
        program.started = true;
        byThread.put(program.thread, program);
    }

    /** Returns threads that run here, and that can be {@linkplain Group#abandon abandoned} together. */
    public Group newGroup() {
        return new Group();
    }

    /** Gives one thread that is due its turn. Lets the time pass when none is, at most until then on the monotonic clock. */
    public void step(long untilNs) {
        steps(1, untilNs == Long.MAX_VALUE ? untilNs : untilNs - clock.monotonicNs());
    }

    /** Gives so many turns to threads that are due. Each time that none is, the time passes instead, at most for so long. */
    public void steps(int count, long maxRestNs) {
        requireTurn();
        changes++; // by the program
        steps = count;
        stepNs = maxRestNs;
        stepping = true;
        program.monitor = null;
        try {
            suspend(program);
        } finally {
            stepping = false;
        }
    }

    private Role requireTurn() {
        Role role = current;
        if (Thread.currentThread() != role.thread) {
            throw new IllegalStateException(
                    "a turn: expected the thread " + role.thread.getName() + ", which has it, found "
                            + Thread.currentThread().getName() + "; give each invoker a thread of its own");
        }
        return role;
    }

    /** Waits until it is over, or past that time, or until an interrupt, which is pending afterwards. */
    private void rest(Role role, boolean canBeUnparked, LongPredicate look, Object monitor, long maxNs) {
        role.canBeUnparked = canBeUnparked;
        role.look = look;
        role.untilNs = fromNow(maxNs);
        role.isOver = false;
        role.changesSeen = changes;
        if (role.monitor != monitor || monitor == null) {
            role.changesSeen = ++changes;
        }
        role.monitor = monitor;
        if (role.group == null || !role.group.abandoned) {
            suspend(role);
        }
        requireAlive(role);
        if (canBeUnparked) {
            role.unparked = false;
        }
    }

    private static void requireAlive(Role role) {
        if (role.group != null && role.group.abandoned) {
            throw new AgentTerminationException(true);
        }
    }

    private void suspend(Role role) {
        Role next = choose(role);
        if (next != role) {
            pass(next);
            awaitTurn(role);
        }
        role.spins = 0;
        if (role == program && failure != null) {
            Throwable cause = failure;
            failure = null;
            throw new IllegalStateException("turns: expected one to be next, found " + cause.getMessage(), cause);
        }
    }

    /** Returns who has the next turn, after as much time as it takes until one is due. */
    private Role choose(Role after) {
        if (after.giver != null) {
            Role next = after.giver;
            after.giver = null;
            return next;
        }
        try {
            while (!stepping || steps-- > 0) {
                List<Role> due = new ArrayList<>();
                long nextNs = Long.MAX_VALUE;
                for (Role role : roles) {
                    if (role.isDue()) {
                        due.add(role);
                    } else {
                        nextNs = earlier(nextNs, role.untilNs);
                    }
                }
                if (!stepping && program.isDue()) {
                    due.add(program);
                }
                if (!due.isEmpty()) {
                    return due.get(schedule.next(due.size()));
                }
                nextNs = earlier(nextNs, stepping ? fromNow(stepNs) : program.untilNs);
                if (nextNs == Long.MAX_VALUE) {
                    throw new IllegalStateException(program.thread.getName()
                            + " waits, and nothing can end that: no role of " + roles.size() + " is due at any time");
                }
                schedule.rest(nextNs);
            }
        } catch (Throwable e) { // the program's, whichever thread has the turn
            failure = e;
        }
        return program;
    }

    private void pass(Role next) {
        Object monitor = next.monitor;
        turns++; // by who has the turn
        current = next;
        if (!next.started) {
            next.started = true;
            next.thread.start();
        } else if (monitor != null) {
            synchronized (monitor) {
                monitor.notifyAll();
            }
        } else {
            LockSupport.unpark(next.thread);
        }
    }

    /** The JVM's wait, for the turn. An interrupt does not end it. */
    private void awaitTurn(Role role) {
        long seen = -1;
        int looks = 0;
        while (current != role) {
            if (role.monitor == null) {
                LockSupport.parkNanos(this, LOOK_NS);
            } else {
                awaitOn(role);
            }
            takeInterrupt(role);
            if (role == program && current != role) {
                looks = seen == turns ? looks + 1 : 0; // and not the time: all of the process may have been stopped
                seen = turns;
                if (looks == MAX_LOOKS) {
                    throw stalled(current);
                }
            }
        }
        takeInterrupt(role);
        if (role.interrupted) {
            role.interrupted = false;
            role.thread.interrupt();
        }
    }

    private static void takeInterrupt(Role role) {
        if (role.thread.isInterrupted()) {
            role.interrupted = true;
            Thread.interrupted();
        }
    }

    private static void awaitOn(Role role) {
        try {
            role.monitor.wait(LOOK_NS / 1_000_000); // held by who waits on it
        } catch (InterruptedException e) {
            role.interrupted = true;
        }
    }

    private IllegalStateException stalled(Role role) {
        StringBuilder stacks = new StringBuilder();
        roles.forEach(each -> stacks.append('\n')
                .append(each.thread)
                .append(' ')
                .append(each.thread.getState())
                .append(Arrays.toString(each.thread.getStackTrace()).replace(", ", "\n    ")));
        return new IllegalStateException("turns: expected each to end, found that " + role.thread.getName()
                + " has it for " + MAX_LOOKS * LOOK_NS / 1_000_000_000
                + " s; see whether it takes a lock that one of these holds while it waits:" + stacks);
    }

    private static long earlier(long one, long other) {
        if (one == Long.MAX_VALUE || other == Long.MAX_VALUE) {
            return Math.min(one, other);
        }
        return one - other <= 0 ? one : other;
    }

    private long fromNow(long ns) {
        long nowNs = clock.monotonicNs();
        return ns >= Long.MAX_VALUE - nowNs ? Long.MAX_VALUE : nowNs + Math.max(0, ns);
    }

    private boolean isPast(long untilNs) {
        return untilNs != Long.MAX_VALUE && untilNs - clock.monotonicNs() <= 0;
    }

    /** Ends the threads that were abandoned: each of their waits throws, so that they leave what they are inside of. */
    @Override
    public void close() {
        requireTurn();
        program.monitor = null;
        for (Role role : abandoned) {
            if (role.started && role.thread.isAlive()) {
                pass(role);
                awaitTurn(program);
            }
        }
        abandoned.clear();
    }

    /** The threads of one worker. */
    public final class Group implements Threads {

        private boolean abandoned;

        private Group() {}

        /** Gives none of these threads a turn again, as if their process had been killed, until the invoker is closed. Not by one of them. */
        public void abandon() {
            if (requireTurn().group == this) {
                throw new IllegalStateException("a group: expected to be abandoned by others, found "
                        + current.thread.getName() + ", which belongs to it; let the program do it");
            }
            abandoned = true;
            for (Role role : List.copyOf(roles)) {
                if (role.group == this) {
                    roles.remove(role);
                    byThread.remove(role.thread);
                    Invoker.this.abandoned.add(role);
                }
            }
        }

        /** Returns the names of its threads that have not ended, in the order of their starts. */
        public List<String> alive() {
            return roles.stream()
                    .filter(role -> role.group == this)
                    .map(role -> role.thread.getName())
                    .toList();
        }

        @Override
        public Thread start(String name, Runnable body) {
            Role role = new Role(this, body, null);
            role.thread.setName(name);
            role.thread.setDaemon(true);
            if (!abandoned) {
                roles.add(role);
                byThread.put(role.thread, role);
            }
            return role.thread;
        }

        @Override
        public void pause(long ns) {
            park(this, ns);
        }

        @Override
        public void park(Object blocker, long maxNs) {
            Role role = requireTurn();
            if (!role.unparked && !Thread.currentThread().isInterrupted()) {
                rest(role, true, NOTHING, null, maxNs);
            }
            requireAlive(role);
            role.unparked = false;
        }

        @Override
        public void unpark(Thread thread) {
            Role role = byThread.get(thread);
            if (role != null) {
                role.unparked = true;
            }
        }

        /** Lets others run first, if the schedule says so: a thread that asks who it is is about to take or give a right. */
        @Override
        public Thread current() {
            Role role = requireTurn();
            mayPreempt(role);
            return role.thread;
        }

        private void mayPreempt(Role role) {
            if (role != program && !abandoned && schedule.preempts() && isPolling()) {
                rest(role, false, NOTHING, null, 0);
            }
        }

        /** Returns whether the caller is the code of polling, which holds no lock. */
        private static boolean isPolling() {
            return STACK.walk(frames -> frames.map(StackWalker.StackFrame::getClassName)
                    .filter(name -> !name.startsWith(Invoker.class.getName()))
                    .findFirst()
                    .filter(name -> name.startsWith("io.waybill.worker.poll."))
                    .isPresent());
        }

        /** Returns the clock, which lets others run first, too: what a thread does next depends on the time that it has read. */
        public Clock clock() {
            return new Clock() {
                @Override
                public long monotonicNs() {
                    mayPreempt(current);
                    return clock.monotonicNs();
                }

                @Override
                public long bootNs() {
                    mayPreempt(current);
                    return clock.bootNs();
                }

                @Override
                public long wallNs() {
                    return clock.wallNs();
                }
            };
        }

        /** Lets the time pass, and only rarely runs others: a turn costs more than a look. */
        @Override
        public void spin() {
            Role role = requireTurn();
            schedule.spin();
            if (++role.spins % MAX_SPINS == 0) {
                rest(role, false, NOTHING, null, 0);
            }
            requireAlive(role);
        }

        @Override
        public void endRound() {
            spin();
        }

        @Override
        public void giveWay() {
            schedule.spin();
            rest(requireTurn(), false, NOTHING, null, 0);
        }

        @Override
        public void waitOn(Object monitor, long maxMs) throws InterruptedException {
            Role role = requireTurn();
            if (!Thread.interrupted()) {
                rest(role, false, NOTHING, monitor, maxMs == 0 ? Long.MAX_VALUE : maxMs * 1_000_000);
                throwInterrupt();
            } else {
                throw new InterruptedException();
            }
        }

        private static void throwInterrupt() throws InterruptedException {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
        }

        @Override
        public boolean await(LongPredicate wait, long maxNs) {
            Role role = requireTurn();
            if (wait.test(0)) {
                return true;
            }
            boolean[] found = {false};
            rest(role, false, ns -> found[0] = wait.test(0), null, maxNs);
            return found[0] || wait.test(0);
        }

        @Override
        public boolean await(Future<?> future, long maxNs) throws InterruptedException {
            throwInterrupt();
            runFirst(future);
            boolean done = await(ns -> future.isDone(), maxNs);
            if (!done) {
                throwInterrupt();
            }
            return done;
        }

        /** Gives the turn to a task that has a thread of its own, and takes it back then: the thread that waits for it may hold a lock. */
        private void runFirst(Future<?> task) {
            for (Role role : roles) {
                if (role.body == task && !role.started) {
                    Role self = requireTurn();
                    role.giver = self;
                    self.monitor = null;
                    pass(role);
                    awaitTurn(self);
                    return;
                }
            }
        }

        @Override
        public boolean join(Thread thread, long maxNs) throws InterruptedException {
            throwInterrupt();
            boolean over = await(ns -> !isAlive(thread), maxNs);
            if (!over) {
                throwInterrupt();
            }
            return over;
        }

        @Override
        public boolean isAlive(Thread thread) {
            return byThread.containsKey(thread);
        }
    }
}
