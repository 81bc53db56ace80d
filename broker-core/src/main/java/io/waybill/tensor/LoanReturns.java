package io.waybill.tensor;

/** How a receiver tells a sender that it is done with a loan. Thread-safe. */
@FunctionalInterface
public interface LoanReturns {

    /** Tells the sender, once, after the last use of the loan's bytes. At most {@link TensorSender#MAX_LOANS} are under way. */
    void released(int sender, long loanId);
}
