package io.waybill.host.failure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class CloseStepsTest {

    @Test
    void attemptsAllAndThrowsTheFirstFailure() {
        List<String> done = new ArrayList<>();
        IOException first = new IOException("first");
        Error second = new OutOfMemoryError("second");
        CloseSteps steps = new CloseSteps()
                .attempt(() -> {
                    throw first;
                })
                .attempt(() -> done.add("a"))
                .attempt(() -> {
                    throw second;
                })
                .attempt(() -> done.add("b"));
        assertThatThrownBy(steps::finish).isSameAs(first).hasSuppressedException(second);
        assertThat(done).containsExactly("a", "b");
    }

    @Test
    void throwsNothingWhenNothingFailed() {
        assertThatCode(() -> new CloseSteps().attempt(() -> {}).finish()).doesNotThrowAnyException();
    }

    @Test
    void throwsCheckedFailuresUncheckedWhereThatIsAsked() {
        IOException failure = new IOException("it");
        CloseSteps steps = new CloseSteps().attempt(() -> {
            throw failure;
        });
        assertThatThrownBy(steps::finishUnchecked)
                .isInstanceOf(IllegalStateException.class)
                .hasCause(failure);
        Error error = new InternalError("error");
        CloseSteps withError = new CloseSteps().attempt(() -> {
            throw error;
        });
        assertThatThrownBy(withError::finishUnchecked).isSameAs(error);
    }

    @Test
    void keepsTheReasonOfACloseInFront() {
        Error reason = new OutOfMemoryError("reason");
        RuntimeException failure = new RuntimeException("while closing");
        new CloseSteps()
                .attempt(() -> {
                    throw failure;
                })
                .attempt(() -> {
                    throw reason;
                })
                .suppressIn(reason);
        assertThat(reason).hasSuppressedException(failure);
    }
}
