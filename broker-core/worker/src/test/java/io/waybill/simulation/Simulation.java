package io.waybill.simulation;

import io.waybill.api.CallException;
import io.waybill.api.MessageId;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.dispatch.StuckSettings;
import io.waybill.host.SimulatedProcess;
import io.waybill.host.SimulatedTime;
import io.waybill.host.agent.Invoker;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.rref.Keeping;
import io.waybill.rref.RRefSettings;
import io.waybill.rref.control.ControlRetries;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.recover.RecoverySettings;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;

/**
 * Workers that call each other, all in the calling thread, in an order and at times that a seed decides; some are killed and replaced,
 * handlers are swapped, and the disk fails. The queues and all other files are real.
 *
 * <p><b>Threads.</b> The one that makes it.
 */
final class Simulation {

    static final List<String> NAMES = List.of("a", "b", "c");
    static final JournalSettings JOURNAL = new JournalSettings(Roll.HOURLY, 1 << 20, 1 << 16, 1 << 20);
    private static final long SECOND_NS = 1_000_000_000L;
    private static final int STEPS = 10; // at the end, before deferred responses are completed
    private static final long STEP_NS = 2_000_000;
    private static final long MAX_END_NS = 300 * SECOND_NS;
    private static final long MAX_LATE_NS = SECOND_NS / 2;
    private static final long MAX_AWAKE_NS = 3_000_000; // with a new thread for the handler, and turns of all others
    private static final int CALLS_IN_A_ROW = 60;
    private static final long MAX_IN_A_ROW_NS = 100_000_000; // a fifth of a rest
    private static final int MAX_TROUBLED = 20;
    private static final int INTERCEPTORS_ONE_IN = 6;
    private static final long REST_NS = 10 * SECOND_NS;
    private static final long[] TIMEOUTS_MS = {3, 100, 3_000};
    private static final WorkerSettings SETTINGS = WorkerSettings.builder()
            .defaultTimeout(Duration.ofSeconds(20))
            .drainLimit(Duration.ofSeconds(1))
            .stuck(new StuckSettings(SECOND_NS / 5, SECOND_NS, StuckSettings.MAX_PER_HANDLER_DEFAULT))
            .journal(JOURNAL)
            .tensors(new TensorConfig(256 << 10, 16 << 20, 4 << 10, 64 << 10))
            .references(new RRefSettings(
                    Duration.ofSeconds(1),
                    Duration.ofSeconds(1),
                    Duration.ofSeconds(2),
                    new ControlRetries(5, Duration.ofMillis(200), Duration.ofSeconds(1), Duration.ofSeconds(1)),
                    Keeping.ON_REQUEST))
            .recovery(new RecoverySettings(Duration.ofSeconds(2), Duration.ofSeconds(1)))
            .build();

    private final Path home;
    private final int calls;
    private final Random random;
    private final SimulatedTime time;
    private final Invoker invoker;
    private final SimulatedDisk disk;
    private final Set<Long> living = new HashSet<>();
    private final Map<String, SimulatedMember> members = new TreeMap<>();
    private final List<SimulatedMember> killed = new ArrayList<>();
    private final SimulatedHandlers handlers;
    private final Map<Integer, Call> open = new LinkedHashMap<>();
    private final Map<String, Integer> outcomes = new TreeMap<>();
    private final List<String> history = new ArrayList<>();
    private final List<String> problems = new ArrayList<>();
    private long pids = 1000;
    private int begun;
    private boolean isOver;
    private int troubled; // acts until the disk works again

    /**
     * What came of it.
     *
     * @param history each event with its time; the same for the same seed
     * @param problems what must not be; empty when all is well
     * @param outcomes how many calls ended in each way
     */
    record Result(List<String> history, List<String> problems, Map<String, Integer> outcomes, long turns) {}

    /** A call, and what is heard of it. */
    private final class Call implements ResponseListener {
        private final int number;
        private final SimulatedMember caller;
        private final long deadlineNs;
        private int heard;
        private long heardNs; // on the monotonic clock

        Call(int number, SimulatedMember caller, long timeoutMs) {
            this.number = number;
            this.caller = caller;
            this.deadlineNs = time.bootNs() + timeoutMs * 1_000_000;
        }

        @Override
        public void onResponse(Response response) {
            handlers.objects().check(number, response.tensors());
            long given = response.int64("n");
            if (given != number) {
                problems.add("call " + number + " got the response to " + given);
            }
            ended("response");
        }

        @Override
        public void onFailure(CallException failure) {
            ended(failure.code().toString());
        }

        void ended(String how) {
            if (isOver) { // a killed worker's objects are closed
                return;
            }
            note("call " + number + " of " + caller.name() + ": " + how);
            open.remove(number);
            if (killed.contains(caller)) {
                problems.add("call " + number + " of a killed worker: " + how);
            }
            if (time.bootNs() - deadlineNs > MAX_LATE_NS) {
                problems.add("call " + number + " ended " + (time.bootNs() - deadlineNs) / 1_000_000
                        + " ms after its deadline: " + how);
            }
            heardNs = time.monotonicNs();
            if (++heard > 1) {
                problems.add("call " + number + " has " + heard + " outcomes, the last: " + how);
            }
            outcomes.merge(how, 1, Integer::sum);
        }
    }

    private Simulation(long seed, Path home, int calls) {
        this.home = home;
        this.calls = calls;
        this.random = new Random(seed);
        this.time = new SimulatedTime(random);
        this.invoker = new Invoker(time, time);
        this.disk = new SimulatedDisk(random);
        this.handlers = new SimulatedHandlers(random, this::note, problems::add);
    }

    /** Runs one. The home is made, and not removed. */
    static Result run(long seed, Path home, int calls) throws IOException {
        Simulation simulation = new Simulation(seed, home, calls);
        simulation.run();
        return new Result(simulation.history, simulation.problems, simulation.outcomes, simulation.time.turns());
    }

    private void note(String event) {
        history.add(time.monotonicNs() + " " + event);
    }

    private void run() throws IOException {
        try {
            NAMES.forEach(this::begin);
            while (begun < calls) {
                act();
                someSteps(40);
            }
            finish();
            judge();
            callAtRest();
            callOneAfterTheOther();
        } finally {
            end();
        }
    }

    private void someSteps(int max) {
        invoker.steps(random.nextInt(max), STEP_NS);
    }

    private void act() {
        if (--troubled == 0) {
            trouble(SimulatedDisk.Trouble.NONE);
        }
        int chance = random.nextInt(1000);
        if (chance < 780) {
            call();
        } else if (chance < 920) {
            handlers.completeOne();
        } else if (chance < 955) {
            swap();
        } else if (chance < 970) {
            kill();
        } else if (chance < 980) {
            trouble(random.nextBoolean() ? SimulatedDisk.Trouble.FULL : SimulatedDisk.Trouble.BROKEN);
            troubled = 1 + random.nextInt(MAX_TROUBLED);
        } else {
            beginMissing();
        }
    }

    private void trouble(SimulatedDisk.Trouble next) {
        note("disk: " + next);
        disk.trouble(next);
    }

    private String anyName() {
        return NAMES.get(random.nextInt(NAMES.size()));
    }

    private SimulatedMember any() {
        return members.get(anyName());
    }

    private void call() {
        SimulatedMember caller = any();
        if (caller == null) {
            return;
        }
        int number = begun++;
        String to = anyName();
        String operation = handlers.anyOperation();
        long timeoutMs = TIMEOUTS_MS[random.nextInt(TIMEOUTS_MS.length)];
        Request request = Request.operation(to, operation).timeout(Duration.ofMillis(timeoutMs));
        request.body().int64("n", number).text("next", anyName());
        Call call = new Call(number, caller, timeoutMs);
        open.put(number, call);
        note("call " + number + " of " + caller.name() + " to " + to + " " + operation);
        Runnable giveBack = () -> {};
        try {
            giveBack = handlers.objects().attach(caller, operation, request, number);
            caller.worker().call(request, call);
        } catch (CallException e) {
            call.ended("refused: " + e.code());
        } finally {
            giveBack.run();
        }
    }

    private void swap() {
        SimulatedMember member = any();
        if (member == null) {
            return;
        }
        if (random.nextInt(INTERCEPTORS_ONE_IN) == 0) {
            note("swap interceptors of " + member.name());
            member.interceptNothing();
            someSteps(30);
            member.intercept(handlers.interceptors());
            return;
        }
        String operation = handlers.anyOperation();
        note("swap " + member.name() + " " + operation);
        member.remove(operation);
        someSteps(30);
        handlers.install(member, operation);
    }

    private void kill() {
        SimulatedMember member = any();
        if (member != null) {
            note("kill " + member.name());
            members.remove(member.name());
            killed.add(member);
            member.process().kill();
            handlers.forget(member);
            open.values().removeIf(call -> call.caller == member);
            if (random.nextBoolean()) {
                begin(member.name());
            }
        }
    }

    private void beginMissing() {
        NAMES.stream().filter(name -> !members.containsKey(name)).forEach(this::begin);
    }

    /** Joins, unless the disk is in the way. */
    private void begin(String name) {
        SimulatedProcess process = new SimulatedProcess(pids++, living, invoker, disk);
        try {
            SimulatedMember member = new SimulatedMember(name, process, home, SETTINGS);
            members.put(name, member);
            handlers.installAll(member);
            member.intercept(handlers.interceptors());
            member.ready();
            note(name + " joined");
        } catch (IOException | RuntimeException e) {
            SimulatedMember half = members.remove(name);
            if (half != null) {
                killed.add(half);
                handlers.forget(half);
            }
            process.kill();
            note(name + " could not join: " + e.getClass().getSimpleName());
            if (disk.failed() == 0) {
                problems.add(name + " could not join: " + e);
            }
        }
    }

    /** Lets all that was begun end, with a disk that works. */
    private void finish() {
        disk.trouble(SimulatedDisk.Trouble.NONE);
        beginMissing();
        handlers.completeAll();
        long untilNs = time.monotonicNs() + MAX_END_NS;
        while (!open.isEmpty() && time.monotonicNs() - untilNs < 0) {
            invoker.steps(STEPS, STEP_NS);
            handlers.completeAll();
        }
        handlers.completeLeft();
        long restedNs = time.monotonicNs() + REST_NS;
        while (time.monotonicNs() - restedNs < 0) {
            invoker.steps(STEPS, STEP_NS);
            handlers.completeAll();
        }
    }

    private void judge() {
        open.values()
                .forEach(call -> problems.add("call " + call.number + " of " + call.caller.name()
                        + " has no outcome after " + MAX_END_NS / SECOND_NS + " s"));
        members.values().forEach(member -> problems.addAll(member.counts()));
    }

    /** All workers rest by now: a message that does not wake its receiver waits until a rest is over. */
    private void callAtRest() {
        members.values().forEach(SimulatedMember::interceptNothing);
        for (SimulatedMember caller : members.values()) {
            for (SimulatedMember callee : members.values()) {
                long beganNs = time.monotonicNs();
                Request request = SimulatedHandlers.plain(callee.name(), begun);
                Call call = new Call(begun++, caller, SECOND_NS);
                caller.worker().call(request, call);
                while (call.heard == 0 && time.monotonicNs() - beganNs < MAX_END_NS) {
                    invoker.step(beganNs + MAX_END_NS);
                }
                long endNs = call.heard == 0 ? time.monotonicNs() : call.heardNs; // a thread that rests keeps its turn
                long tookNs = endNs - beganNs;
                if (tookNs > MAX_AWAKE_NS) {
                    problems.add("a call of " + caller.name() + ", at rest, to " + callee.name() + " took "
                            + tookNs / 1_000 + " us");
                }
            }
        }
    }

    /** From a thread in each worker: no call waits until a rest is over, whatever the threads of both sides do at that moment. */
    private void callOneAfterTheOther() {
        Map<SimulatedMember, Thread> callers = new LinkedHashMap<>();
        members.values()
                .forEach(each -> callers.put(
                        each, each.threads().start(each.name() + "-program", () -> callOneAfterTheOther(each))));
        long untilNs = time.monotonicNs() + MAX_END_NS;
        while (callers.entrySet().stream()
                        .anyMatch(each -> each.getKey().threads().isAlive(each.getValue()))
                && time.monotonicNs() - untilNs < 0) {
            invoker.steps(STEPS, STEP_NS);
        }
    }

    private void callOneAfterTheOther(SimulatedMember caller) {
        for (int i = 0; i < CALLS_IN_A_ROW; i++) {
            String to = anyName();
            long beganNs = time.monotonicNs();
            try (Response response = caller.worker().call(SimulatedHandlers.brief(to, i))) {
                long given = response.int64("n");
                if (given != i) {
                    problems.add("call " + i + " in a row got the response to " + given);
                }
            } catch (CallException e) {
                problems.add("call " + i + " in a row: " + e);
            }
            long tookNs = time.monotonicNs() - beganNs;
            if (tookNs > MAX_IN_A_ROW_NS) {
                problems.add("call " + i + " in a row, of " + caller.name() + " to " + to + ", took " + tookNs / 1_000
                        + " us");
            }
        }
    }

    private void end() throws IOException {
        disk.trouble(SimulatedDisk.Trouble.NONE);
        for (SimulatedMember member : members.values()) {
            member.close();
            long untilNs = time.monotonicNs() + SECOND_NS;
            while (!member.process().threads().isEmpty() && time.monotonicNs() - untilNs < 0) {
                invoker.step(untilNs); // the poller ends by itself
            }
            if (!member.process().threads().isEmpty()) {
                problems.add(
                        "after " + member.name() + " left: " + member.process().threads());
            }
            member.process().exit();
        }
        note("end after " + time.turns() + " turns, " + disk.failed() + " failed calls");
        isOver = true;
        for (SimulatedMember member : members.values()) {
            for (long id : member.respondedTwice()) {
                problems.add(MessageId.text(id) + " has two responses on record, of " + member.name());
            }
        }
        invoker.close();
        killed.forEach(SimulatedMember::discard);
    }
}
