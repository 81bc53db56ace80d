package io.waybill.worker.poll;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.dispatch.HandlerEntry;
import io.waybill.exchange.CallOrigin;
import io.waybill.exchange.HandlerCall;
import io.waybill.host.Host;
import io.waybill.host.Threads;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The slots of the threads that run handlers. */
@Timeout(120)
class HandlerSlotsTest {

    private final HandlerSlots slots = new HandlerSlots(Host.real().threads());

    /** A request that a thread is inside of. */
    private record Call(long id) implements HandlerCall {

        @Override
        public long sequence() {
            return id;
        }

        @Override
        public HandlerEntry entry() {
            return null;
        }

        @Override
        public long deadlineNs() {
            return 0;
        }

        @Override
        public void abandon(long sequence) {
            throw new UnsupportedOperationException("no watchdog runs here");
        }
    }

    /** Runs a body on a thread of its own, and fails with it. */
    private static void onAnotherThread(Runnable body) throws Exception {
        FutureTask<Void> task = new FutureTask<>(body, null);
        Host.real().threads().start("another", task);
        task.get(100, TimeUnit.SECONDS);
    }

    private static List<HandlerSlot> listed(HandlerSlots all) {
        List<HandlerSlot> found = new ArrayList<>();
        all.all().forEachRemaining(found::add);
        return found;
    }

    @Test
    void givesEachThreadOneSlotOfItsOwn() throws Exception {
        HandlerSlot own = slots.own();
        AtomicReference<HandlerSlot> another = new AtomicReference<>();
        onAnotherThread(() -> {
            another.set(slots.own());
            assertThat(slots.own()).isSameAs(another.get());
        });
        assertThat(slots.own()).as("the slot of this thread, the second time").isSameAs(own);
        assertThat(own.thread()).isSameAs(Thread.currentThread());
        assertThat(another.get().thread()).isNotSameAs(Thread.currentThread());
        assertThat(listed(slots)).as("all slots").containsExactly(own, another.get());
    }

    /** On a host where one thread runs the bodies of all others, it is each of them in turn. */
    @Test
    void givesEachBodyASlotWhereOneThreadRunsThemAll() {
        Turns turns = new Turns();
        HandlerSlots simulated = new HandlerSlots(turns);
        HandlerSlot first = simulated.own();
        turns.current = new Thread("second");
        HandlerSlot second = simulated.own();
        assertThat(second).as("the slot of the second").isNotSameAs(first);
        assertThat(second.thread()).isSameAs(turns.current);
        turns.current = first.thread();
        assertThat(simulated.own())
                .as("the slot of the first, in its next turn")
                .isSameAs(first);
        assertThat(listed(simulated)).containsExactly(first, second);
    }

    private static final class Turns implements Threads {

        private Thread current = new Thread("first");

        @Override
        public Thread start(String name, Runnable body) {
            throw new UnsupportedOperationException("the test itself takes the turns");
        }

        @Override
        public Thread current() {
            return current;
        }

        @Override
        public <T> ThreadLocal<T> local() {
            Map<Thread, T> values = new HashMap<>();
            return new ThreadLocal<>() {
                @Override
                public T get() {
                    return values.get(current);
                }

                @Override
                public void set(T value) {
                    values.put(current, value);
                }
            };
        }
    }

    @Test
    void listsTheOthersWhileThreadsComeAndGo() throws Exception {
        HandlerSlot own = slots.own();
        onAnotherThread(slots::own);
        onAnotherThread(slots::own);
        Iterator<HandlerSlot> all = slots.all();
        assertThat(all.next()).isSameAs(own);
        HandlerSlot ended = all.next();
        all.remove();
        onAnotherThread(slots::own); // while they are listed
        all.forEachRemaining(slot -> assertThat(slot).isNotIn(own, ended));
        assertThat(listed(slots)).as("all slots but the removed one").hasSize(3).doesNotContain(ended);
    }

    @Test
    void namesTheInnermostRequestAsTheOriginOfCalls() {
        HandlerSlot own = slots.own();
        assertThat(slots.origin()).as("outside of handlers").isSameAs(CallOrigin.PROGRAM);
        HandlerCall outer = new Call(1);
        HandlerCall before = own.enter(outer);
        assertThat(slots.origin()).as("in a handler").isSameAs(outer);
        HandlerCall beforeInner = own.enter(new Call(2));
        assertThat(slots.origin().parent()).as("in a handler inside it").isEqualTo(2);
        own.leave(beforeInner);
        assertThat(slots.origin()).as("back in the outer handler").isSameAs(outer);
        own.leave(before);
        assertThat(slots.origin()).as("outside again").isSameAs(CallOrigin.PROGRAM);
    }

    @Test
    void takesAThreadThatRunsNoHandlerForTheProgramAndKeepsNothingOfIt() throws Exception {
        slots.own().enter(new Call(1));
        AtomicReference<CallOrigin> origin = new AtomicReference<>();
        onAnotherThread(() -> origin.set(slots.origin()));
        assertThat(origin).as("the origin of another thread's calls").hasValue(CallOrigin.PROGRAM);
        assertThat(listed(slots)).as("all slots").containsExactly(slots.own());
    }
}
