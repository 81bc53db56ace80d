package io.waybill.host.agent;

import io.waybill.host.Clock;
import io.waybill.host.Threads;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.function.LongPredicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the threads of one worker, or of several in this JVM, on the thread that calls it: their bodies in turns, one after the other. What
 * does its work in {@link DutyCycles} gets a turn when one is due; any other body is one turn. A role that waits, and the program as well,
 * runs the turns of others meanwhile, inside its own: it goes on when those have returned.
 *
 * <p><b>Threads.</b> Belongs to the thread that creates it, which is the only one to call it, its groups, and the workers on them.
 *
 * <p><b>Limits.</b> Turns inside of each other return in the opposite order. So each wait needs a limit, and a worker must not poll with
 * {@code Waiting.SPIN}, which keeps the right to poll while it spins.
 *
 * <p><b>Errors.</b> What a turn throws is logged, and ends its role. A wait throws an {@link IllegalStateException} when nothing can ever end
 * it.
 */
public final class Invoker {

    private static final Logger LOG = LoggerFactory.getLogger(Invoker.class);

    /** Chooses what runs, and says how the time passes. */
    public interface Schedule {

        /** Returns which of so many roles has the next turn. */
        int next(int due);

        /** Lets the time pass, at most until then on the monotonic clock: no role is due. */
        void rest(long untilNs);

        /** Lets the time of one look pass in a loop that waits by looking. */
        void spin();
    }

    /** More than anything that spins for a time, and holds a right meanwhile. */
    private static final int MAX_SPINS = 1024;

    private final Thread owner = Thread.currentThread();
    private final Clock clock;
    private final Schedule schedule;
    private final Consumer<Runnable> around;
    private final List<Role> roles = new ArrayList<>();
    private final Map<Thread, Role> byThread = new IdentityHashMap<>();
    private Role current;
    private int spins; // since the last turn

    /** A thread that is not one: it has turns. Or the program. */
    private static final class Role {
        private final Group group; // null for the program
        private final Runnable body;
        private final Thread thread; // never started
        private boolean unparked; // or found to be due
        private boolean isInside; // its turn has not returned
        private boolean ended;

        Role(Group group, Runnable body, Thread thread) {
            this.group = group;
            this.body = body;
            this.thread = thread;
        }

        boolean isDue() {
            if (!isInside && !unparked) {
                unparked = !(body instanceof DutyCycles cycles) || cycles.isDue();
            }
            return !isInside && unparked;
        }

        long dueNs() {
            return !isInside && body instanceof DutyCycles cycles ? cycles.dueNs() : Long.MAX_VALUE;
        }

        void turn() {
            boolean goesOn = false;
            try {
                if (body instanceof DutyCycles cycles) {
                    goesOn = cycles.cycle();
                } else {
                    body.run();
                }
            } catch (Throwable e) { // as of a thread's body: the others go on
                LOG.error("{} ends", thread.getName(), e);
            } finally {
                ended = !goesOn;
            }
        }
    }

    /** Runs turns as they are. */
    public Invoker(Clock clock, Schedule schedule) {
        this(clock, schedule, Runnable::run);
    }

    /** @param around runs each turn, and hides from it what belongs to the turn that it runs inside of, such as the values of thread-locals */
    public Invoker(Clock clock, Schedule schedule, Consumer<Runnable> around) {
        this.clock = clock;
        this.schedule = schedule;
        this.around = around;
        this.current = new Role(null, () -> {}, owner);
        byThread.put(owner, current);
    }

    /** Returns threads that run here, and that can be {@linkplain Group#abandon abandoned} together. */
    public Group newGroup() {
        return new Group();
    }

    /** Gives one role that is due its turn. Lets the time pass when none is, at most until then on the monotonic clock. Returns whether one was. */
    public boolean step(long untilNs) {
        if (Thread.currentThread() != owner) {
            throw new IllegalStateException(
                    "a turn: expected the thread " + owner.getName() + ", which made the invoker," + " found "
                            + Thread.currentThread().getName() + "; give each invoker a thread of its own");
        }
        List<Role> due = new ArrayList<>();
        long nextNs = untilNs;
        for (Role role : roles) {
            if (role.isDue()) {
                due.add(role);
            } else {
                nextNs = earlier(nextNs, role.dueNs());
            }
        }
        if (!due.isEmpty()) {
            run(due.get(schedule.next(due.size())));
            return true;
        }
        if (nextNs == Long.MAX_VALUE) {
            throw new IllegalStateException(current.thread.getName() + " waits, and nothing can end that: no role of "
                    + roles.size() + " is due at any time");
        }
        schedule.rest(nextNs);
        return false;
    }

    private static long earlier(long one, long other) {
        if (one == Long.MAX_VALUE || other == Long.MAX_VALUE) {
            return Math.min(one, other);
        }
        return one - other <= 0 ? one : other;
    }

    private void run(Role role) {
        Role outer = current;
        current = role;
        spins = 0;
        role.unparked = false;
        role.isInside = true;
        try {
            around.accept(role::turn);
        } finally {
            role.isInside = false;
            current = outer;
            if (role.ended) {
                remove(role);
            }
        }
    }

    private void remove(Role role) {
        roles.remove(role);
        byThread.remove(role.thread);
    }

    private long fromNow(long ns) {
        long nowNs = clock.monotonicNs();
        return ns >= Long.MAX_VALUE - nowNs ? Long.MAX_VALUE : nowNs + Math.max(0, ns);
    }

    private boolean isPast(long untilNs) {
        return untilNs != Long.MAX_VALUE && untilNs - clock.monotonicNs() <= 0;
    }

    /** The threads of one worker. */
    public final class Group implements Threads {

        private boolean abandoned;

        private Group() {}

        /** Gives none of these threads a turn again, as if their process had been killed. Not inside of a turn of theirs. */
        public void abandon() {
            abandoned = true;
            for (Role role : List.copyOf(roles)) {
                if (role.group == this) {
                    if (role.isInside) {
                        throw new IllegalStateException(role.thread.getName() + " is inside of its turn");
                    }
                    role.ended = true;
                    remove(role);
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
            Role role = new Role(this, body, new Thread(name));
            if (!abandoned) {
                roles.add(role);
                byThread.put(role.thread, role);
            }
            return role.thread;
        }

        @Override
        public void pause(long ns) {
            long untilNs = fromNow(ns);
            while (!current.unparked && !isPast(untilNs)) {
                step(untilNs);
            }
            current.unparked = false;
        }

        @Override
        public void park(Object blocker, long maxNs) {
            if (!current.unparked) {
                step(fromNow(maxNs));
            }
            current.unparked = false;
        }

        @Override
        public void unpark(Thread thread) {
            Role role = byThread.get(thread);
            if (role != null) {
                role.unparked = true;
            }
        }

        /** Lets the time pass, and only rarely runs others: a loop that spins does its own work, and may hold what they need. */
        @Override
        public void spin() {
            schedule.spin();
            if (++spins % MAX_SPINS == 0) {
                step(clock.monotonicNs());
            }
        }

        @Override
        public void giveWay() {
            schedule.spin();
            step(clock.monotonicNs());
        }

        @Override
        public void waitOn(Object monitor, long maxMs) {
            step(maxMs == 0 ? Long.MAX_VALUE : fromNow(maxMs * 1_000_000));
        }

        @Override
        public boolean await(LongPredicate wait, long maxNs) {
            long untilNs = fromNow(maxNs);
            boolean over = wait.test(0);
            while (!over && !isPast(untilNs)) {
                step(untilNs);
                over = wait.test(0);
            }
            return over;
        }

        @Override
        public boolean await(Future<?> future, long maxNs) {
            for (Role role : roles) {
                if (role.body == future && !role.isInside) { // a task that was just given to a thread of its own
                    run(role);
                    break;
                }
            }
            return await(ns -> future.isDone(), maxNs);
        }

        @Override
        public boolean join(Thread thread, long maxNs) {
            return await(ns -> !isAlive(thread), maxNs);
        }

        @Override
        public boolean isAlive(Thread thread) {
            return byThread.containsKey(thread);
        }

        @Override
        public Thread current() {
            return current.thread;
        }

        @Override
        public <T> ThreadLocal<T> local() {
            return new RoleLocal<>();
        }
    }

    /** A variable of each role. */
    private final class RoleLocal<T> extends ThreadLocal<T> {

        private final Map<Thread, T> values = new IdentityHashMap<>();

        @Override
        public T get() {
            return values.get(current.thread);
        }

        @Override
        public void set(T value) {
            values.put(current.thread, value);
        }

        @Override
        public void remove() {
            values.remove(current.thread);
        }
    }
}
