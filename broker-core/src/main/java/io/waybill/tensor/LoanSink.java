package io.waybill.tensor;

/** Takes what receivers say they are done with. */
@FunctionalInterface
public interface LoanSink {

    /** The receiver says that it has released a loan; a claim, not yet checked. */
    void released(int receiver, long loanId);
}
