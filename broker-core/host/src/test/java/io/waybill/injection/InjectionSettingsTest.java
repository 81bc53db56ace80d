package io.waybill.injection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.waybill.api.MessageType;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class InjectionSettingsTest {

    /** What PyTorch's tests begin with. */
    private static final InjectionSettings OF_PYTORCH = InjectionSettings.NONE
            .withFail(
                    MessageType.RREF_FORK_REQUEST,
                    MessageType.RREF_CHILD_ACCEPT,
                    MessageType.RREF_USER_DELETE,
                    MessageType.CLEANUP_AUTOGRAD_CONTEXT_REQ)
            .withTimes(3)
            .withDelay(MessageType.PYTHON_CALL, Duration.ofMillis(1500))
            .withDelay(MessageType.SCRIPT_CALL, Duration.ofMillis(1500));

    @Test
    void saysWhatItInjects() {
        assertThat(OF_PYTORCH.isNone()).isFalse();
        assertThat(OF_PYTORCH.fail()).hasSize(4);
        assertThat(OF_PYTORCH.times()).isEqualTo(3);
        assertThat(OF_PYTORCH.delay()).hasSize(2).containsEntry(MessageType.SCRIPT_CALL, Duration.ofMillis(1500));
        assertThat(OF_PYTORCH.text())
                .isEqualTo("fail RREF_USER_DELETE RREF_FORK_REQUEST RREF_CHILD_ACCEPT CLEANUP_AUTOGRAD_CONTEXT_REQ"
                        + " 3 times; delay SCRIPT_CALL 1500ms; delay PYTHON_CALL 1500ms");
        assertThat(InjectionSettings.NONE
                        .withDrop(MessageType.RREF_USER_DELETE)
                        .withDuplicate(MessageType.RREF_CHILD_ACCEPT)
                        .withReorder(MessageType.RREF_FORK_REQUEST)
                        .text())
                .isEqualTo("drop RREF_USER_DELETE once; duplicate RREF_CHILD_ACCEPT; reorder RREF_FORK_REQUEST");
    }

    @Test
    void failsTheTypesThatItIsGiven() {
        InjectionSettings settings =
                InjectionSettings.NONE.withFail(MessageType.RREF_FORK_REQUEST, MessageType.RREF_CHILD_ACCEPT);

        assertThat(settings.fail())
                .containsExactlyInAnyOrder(MessageType.RREF_FORK_REQUEST, MessageType.RREF_CHILD_ACCEPT);
        assertThat(settings.delay()).isEmpty();
    }

    @Test
    void mayBeGivenNone() {
        assertThat(OF_PYTORCH.withFail().fail()).isEmpty();
        assertThat(InjectionSettings.NONE.isNone()).isTrue();
        assertThat(InjectionSettings.NONE.text()).isEmpty();
    }

    @Test
    void delaysTheTypesThatItIsGiven() {
        InjectionSettings settings = InjectionSettings.NONE.withDelay(MessageType.SCRIPT_CALL, Duration.ofMillis(1500));

        assertThat(settings.delay()).hasSize(1).containsEntry(MessageType.SCRIPT_CALL, Duration.ofMillis(1500));
        assertThat(settings.fail()).isEmpty();
    }

    @Test
    void takesOnlyRequests() {
        assertThat(InjectionSettings.type("SCRIPT_REMOTE_CALL")).isEqualTo(MessageType.SCRIPT_REMOTE_CALL);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InjectionSettings.type("NON_EXISTENT"))
                .withMessage("no type of requests is called 'NON_EXISTENT'");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InjectionSettings.type("SCRIPT_RET"))
                .withMessage("no type of requests is called 'SCRIPT_RET'");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InjectionSettings.NONE.withFail(MessageType.RREF_ACK))
                .withMessage("faults befall requests, and RREF_ACK is none");
    }

    @Test
    void doublesAndReordersOnlyControlMessages() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InjectionSettings.NONE.withDuplicate(MessageType.SCRIPT_CALL))
                .withMessage("only RREF_USER_DELETE RREF_FORK_REQUEST RREF_CHILD_ACCEPT CLEANUP_AUTOGRAD_CONTEXT_REQ"
                        + " may come twice or in another order, and not SCRIPT_CALL");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InjectionSettings.NONE.withReorder(MessageType.NAMED_CALL));
    }

    @Test
    void refusesNumbersThatAreNone() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InjectionSettings.NONE.withTimes(-1))
                .withMessage("how often a request fails or is lost must not be negative: -1");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InjectionSettings.NONE.withDelay(MessageType.SCRIPT_CALL, Duration.ofMillis(-1)))
                .withMessage("the delay of SCRIPT_CALL must be from 0 to a day: PT-0.001S");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InjectionSettings.NONE.withDelay(MessageType.SCRIPT_CALL, Duration.ofDays(2)));
    }
}
