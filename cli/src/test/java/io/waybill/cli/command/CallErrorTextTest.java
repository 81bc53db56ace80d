package io.waybill.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import org.junit.jupiter.api.Test;

class CallErrorTextTest {

    private static String text(ErrorCode code, String message) {
        return CallErrorText.of(new CallException(ErrorKind.UNKNOWN_ERROR, code, 1, message), message);
    }

    @Test
    void recommendsToStartAWorkerThatIsLost() {
        assertThat(text(ErrorCode.WORKER_LOST, "worker ops died"))
                .isEqualTo("worker ops died; start it again: waybill node --name NAME [WORKER_LOST]");
    }

    @Test
    void recommendsNothingForAProcessThatTheCalleeLost() {
        assertThat(text(ErrorCode.WORKER_LOST, "Error on Node 2: python-1 (pid 7) was killed by signal 9"))
                .isEqualTo("Error on Node 2: python-1 (pid 7) was killed by signal 9 [WORKER_LOST]");
    }
}
