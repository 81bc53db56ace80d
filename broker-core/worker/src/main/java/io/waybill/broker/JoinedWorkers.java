package io.waybill.broker;

import io.waybill.api.broker.Broker;
import io.waybill.api.broker.JoinedWorker;
import io.waybill.dispatch.Provider;
import io.waybill.host.failure.CloseSteps;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/** Workers that one owner has joined, until they leave or the owner's broker is revoked. Thread-safe. */
final class JoinedWorkers {

    private final Set<Member> members = new LinkedHashSet<>(); // guarded by this
    private int joining; // guarded by this
    private boolean closed; // guarded by this

    /** Makes a worker join; without a lock, because it takes a while. */
    JoinedWorker add(Provider owner, Supplier<JoinedWorker> join) {
        synchronized (this) {
            requireOpen(owner);
            if (members.size() + joining >= Broker.MAX_JOINED) {
                throw new IllegalStateException(
                        owner + " has joined " + Broker.MAX_JOINED + " workers, and at most as many are possible");
            }
            joining++;
        }
        Member member;
        try {
            member = new Member(join.get());
        } finally {
            synchronized (this) {
                joining--;
            }
        }
        synchronized (this) {
            members.add(member);
            if (!closed) {
                return member;
            }
        }
        member.close();
        throw new IllegalStateException(revoked(owner));
    }

    private void requireOpen(Provider owner) {
        if (closed) {
            throw new IllegalStateException(revoked(owner));
        }
    }

    private static String revoked(Provider owner) {
        return "the Broker of " + owner + " is revoked";
    }

    /** Makes all workers leave in order. */
    void close(CloseSteps steps) {
        List<Member> all;
        synchronized (this) {
            closed = true;
            all = new ArrayList<>(members);
        }
        all.forEach(each -> steps.attempt(each::close));
    }

    /** Worker that is forgotten when it leaves. */
    private final class Member implements JoinedWorker {
        private final JoinedWorker worker;

        Member(JoinedWorker worker) {
            this.worker = worker;
        }

        @Override
        public Broker broker() {
            return worker.broker();
        }

        @Override
        public String shutdown(Duration limit, Collection<String> others) {
            return worker.shutdown(limit, others);
        }

        @Override
        public void sendAndPoll(Runnable sends) {
            worker.sendAndPoll(sends);
        }

        @Override
        public void close() {
            try {
                worker.close();
            } finally {
                forget();
            }
        }

        @Override
        public void abandon() {
            try {
                worker.abandon();
            } finally {
                forget();
            }
        }

        private void forget() {
            synchronized (JoinedWorkers.this) {
                members.remove(this);
            }
        }
    }
}
