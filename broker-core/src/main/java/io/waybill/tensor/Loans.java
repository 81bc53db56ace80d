package io.waybill.tensor;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import java.util.ArrayList;
import java.util.List;
import org.agrona.collections.Int2ObjectHashMap;
import org.agrona.collections.Long2ObjectHashMap;

/**
 * What this worker has lent to whom. What a receiver claims to have released is checked against it.
 *
 * <p><b>Threads.</b> Thread-safe. Its lock is taken before the {@link SegmentPool}'s, never after.
 */
final class Loans implements LoanSink {

    private static final int MAX_OUTSTANDING = TensorSender.MAX_LOANS;

    /** A look at what a receiver released costs a cache miss or two, and serves many loans at once. */
    private static final int POLLED_FROM = 32;

    private final ReleasedLoans released;
    private final Int2ObjectHashMap<Long2ObjectHashMap<Loan>> byReceiver = new Int2ObjectHashMap<>();
    private long nextId;
    private long outstanding;
    private long wrongClaims;
    private boolean ended;

    Loans(long firstId, ReleasedLoans released) {
        this.nextId = firstId;
        this.released = released;
    }

    /**
     * Opens loans to a receiver. They are planned: {@link #stand} or {@link #cancel} comes next.
     *
     * @throws CallException {@link ErrorCode#BACK_PRESSURE} when the receiver has too many that it did not release
     */
    synchronized void open(int receiver, int count, List<Loan> opened) {
        Long2ObjectHashMap<Loan> its = byReceiver.computeIfAbsent(receiver, key -> new Long2ObjectHashMap<>());
        if (its.size() >= POLLED_FROM) {
            released.poll(receiver, this);
        }
        if (its.size() + count > MAX_OUTSTANDING) {
            throw new CallException(
                    ErrorKind.UNKNOWN_ERROR,
                    ErrorCode.BACK_PRESSURE,
                    MessageId.NONE,
                    "worker " + receiver + " uses " + its.size() + " loans of tensor memory and may use "
                            + MAX_OUTSTANDING + "; this message needs " + count);
        }
        for (int i = 0; i < count; i++) {
            Loan loan = new Loan(nextId++, receiver);
            its.put(loan.id(), loan);
            opened.add(loan);
        }
        outstanding += count;
    }

    /** The message is in the journal. */
    synchronized void stand(Loan loan) {
        if (loan.state() == Loan.State.RETURNED_EARLY) {
            loan.end();
        } else if (ended) {
            forget(loan);
            loan.end();
        } else {
            loan.state(Loan.State.STANDING);
        }
    }

    /** The message never got into the journal. */
    synchronized void cancel(Loan loan) {
        if (loan.state() == Loan.State.PLANNED) {
            forget(loan);
        }
        loan.end();
    }

    @Override
    public synchronized void released(int receiver, long loanId) {
        Long2ObjectHashMap<Loan> its = byReceiver.get(receiver);
        Loan loan = its == null ? null : its.get(loanId);
        if (loan == null) {
            wrongClaims++;
            return;
        }
        finish(loan);
    }

    private void finish(Loan loan) {
        forget(loan);
        if (loan.state() == Loan.State.PLANNED) {
            loan.state(Loan.State.RETURNED_EARLY);
        } else {
            loan.end();
        }
    }

    private void forget(Loan loan) {
        byReceiver.get(loan.receiver()).remove(loan.id());
        outstanding--;
    }

    /** Ends all loans of a receiver that is gone. */
    synchronized void receiverGone(int receiver) {
        Long2ObjectHashMap<Loan> its = byReceiver.get(receiver);
        if (its != null) {
            for (Loan loan : new ArrayList<>(its.values())) {
                finish(loan);
            }
            byReceiver.remove(receiver);
        }
    }

    /** Ends all loans: nobody will read what receivers release any more. Those of a message that is being written end with that. */
    synchronized void endAll() {
        ended = true;
        for (int receiver :
                byReceiver.keySet().stream().mapToInt(Integer::intValue).toArray()) {
            receiverGone(receiver);
        }
    }

    synchronized void pollAll() {
        byReceiver.forEach((receiver, its) -> {
            if (!its.isEmpty()) {
                released.poll(receiver, this);
            }
        });
    }

    synchronized long outstanding() {
        return outstanding;
    }

    synchronized long wrongClaims() {
        return wrongClaims;
    }
}
