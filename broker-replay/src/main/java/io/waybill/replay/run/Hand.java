package io.waybill.replay.run;

import io.waybill.api.Tensor;
import io.waybill.replay.Answer;
import io.waybill.replay.Comparison;
import io.waybill.replay.NotRecordedException;
import io.waybill.replay.RecordedCall;
import io.waybill.replay.ReplayedCall;
import io.waybill.replay.ReplayedCall.Result;
import io.waybill.replay.Verdict;
import io.waybill.replay.compare.AnswerComparison;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Runs calls through the handlers of all contenders, one after the other, and compares. What a handler holds up, another hand goes on with.
 *
 * <p><b>Threads.</b> Runs on its own, but for {@link #supervision} and {@link #batch} of one that was given up.
 */
final class Hand implements Runnable {

    private static final Comparison EXACT = AnswerComparison.exact();

    private final Line line;
    private final Supervision supervision;
    private final List<Runner> runners = new ArrayList<>();
    private final CallReader reader = new CallReader(Optional.empty());
    private Batch batch; // null while it waits for one

    /** @param begun calls of which another hand ran some; null for none */
    Hand(Line line, Batch begun) {
        this.line = line;
        this.batch = begun;
        this.supervision = new Supervision(line.worker().id());
        Runner.Surroundings surroundings = new Runner.Surroundings(line.records(), supervision, line.settings());
        for (Contender contender : line.contenders()) {
            Runner runner = new Runner(contender, surroundings);
            contender.runs(runner);
            runners.add(runner);
        }
    }

    Supervision supervision() {
        return supervision;
    }

    /** What it has in hand. */
    Batch batch() {
        return batch;
    }

    @Override
    public void run() {
        supervision.begin();
        try {
            do {
                batch = batch == null ? line.take() : batch;
                while (!batch.isDone()) {
                    run(batch.next());
                }
                line.give(batch);
                batch = batch.read().isEmpty() ? batch : null;
            } while (batch == null);
        } catch (Supervision.GivenUpError e) {
            return; // another one goes on
        } catch (InterruptedException e) {
            return; // nobody takes any more
        } catch (IOException | RuntimeException | Error e) {
            line.failed(e);
        }
    }

    private void run(ReadCall read) throws InterruptedException, IOException {
        if (batch.current().isEmpty()) {
            line.settings().pace().await(read.call());
        }
        Optional<Answer> recorded = read.recorded();
        String unfit = read.unfit();
        if (read.isFit() && recorded.isEmpty()) {
            try {
                recorded = Optional.of(withTensors(read.call()));
            } catch (NotRecordedException e) {
                unfit = "the answer on record is not whole: " + e.getMessage();
            }
        }
        for (int i = batch.current().size(); i < runners.size(); i++) {
            batch.current().add(judge(read, recorded, unfit, i));
        }
        batch.add(
                new ReplayedCall(read.call(), line.worker(), read.operation(), recorded, List.copyOf(batch.current())));
    }

    private Answer withTensors(RecordedCall call) throws NotRecordedException, IOException {
        List<Tensor> tensors = line.records().tensors(call.response().orElseThrow());
        return reader.answer(call, tensors);
    }

    private Result judge(ReadCall read, Optional<Answer> recorded, String unfit, int contender) {
        String name = line.contenders().get(contender).name();
        if (!unfit.isEmpty()) {
            return new Result(name, Verdict.NOT_REPLAYABLE, unfit, Optional.empty());
        }
        Outcome outcome = runners.get(contender).run(read.call());
        if (outcome instanceof Outcome.Stopped stopped) {
            return new Result(name, stopped.verdict(), stopped.reason(), Optional.empty());
        }
        Answer replayed = ((Outcome.Answered) outcome).answer();
        Optional<String> difference = line.settings().comparison().firstDifference(recorded.get(), replayed);
        if (difference.isEmpty()) {
            return new Result(name, Verdict.SAME, "", Optional.of(replayed));
        }
        Optional<String> wavering = wavering(runners.get(contender), read.call(), replayed);
        return new Result(
                name,
                wavering.isPresent() ? Verdict.NOT_REPLAYABLE : Verdict.DIFFERENT,
                wavering.map(why -> why + "; the first and the record: " + difference.get())
                        .orElse(difference.get()),
                Optional.of(replayed));
    }

    /** Runs it again, and says what then was otherwise; empty when nothing was. */
    private Optional<String> wavering(Runner runner, RecordedCall call, Answer first) {
        Outcome again = runner.run(call);
        if (again instanceof Outcome.Stopped stopped) {
            return Optional.of("another run of it gave no answer: " + stopped.reason());
        }
        Answer second = ((Outcome.Answered) again).answer();
        try {
            return EXACT.firstDifference(first, second).map(other -> "two runs of it gave different answers");
        } finally {
            second.tensors().forEach(tensor -> tensor.storage().release());
        }
    }
}
