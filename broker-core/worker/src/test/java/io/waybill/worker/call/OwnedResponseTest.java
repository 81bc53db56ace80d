package io.waybill.worker.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Response;
import io.waybill.api.tensor.Tensor;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.reference.ReceivedReferences;
import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Responses that outlive the poll that read them: what they keep, and what they release. */
@Timeout(60)
class OwnedResponseTest {

    private static final MessageType TYPE = MessageType.userRequest(0x42);
    private static final long ID = MessageId.of(3, 99);
    private static final int FROM = 5;
    private static final byte[] PAYLOAD = {1, 2, 3, 4, 5};

    private final MessageBuffer buffer = new MessageBuffer();
    private final RecordView record = new RecordView(buffer);
    private final ResponseView view = new ResponseView();

    private void arrives(Tensor... tensors) throws MalformedRecordException {
        write(PAYLOAD);
        view.open(record, List.of(tensors), ReceivedReferences.none());
    }

    private void write(byte[] payload) throws MalformedRecordException {
        buffer.begin(TYPE, ID, FROM, 3, payload.length, 0).payload(payload, 0, payload.length);
        buffer.seal(0);
        record.check();
    }

    private static byte[] bytes(Response response) {
        ByteBuffer payload = response.payload();
        byte[] all = new byte[payload.remaining()];
        payload.get(all);
        return all;
    }

    @Test
    void theResponseStaysWhenItsRecordIsGone() throws Exception {
        arrives();
        Response owned = OwnedResponse.keep(view);
        view.closeView();
        write(new byte[] {9, 9, 9, 9, 9});
        assertThat(bytes(owned)).as("the payload").isEqualTo(PAYLOAD);
        assertThat(owned.id()).as("the id").isEqualTo(ID);
        assertThat(owned.from()).as("the worker that responded").isEqualTo(FROM);
        assertThat(owned.type()).as("the type").isEqualTo(TYPE);
        assertThat(owned.tensors()).as("the tensors").isEmpty();
        assertThat(owned.references()).as("the references").isEmpty();
        owned.close();
    }

    @Test
    void anotherReaderOfTheViewFindsThePayloadUnread() throws Exception {
        arrives();
        OwnedResponse.keep(view).close();
        assertThat(bytes(view)).as("the payload of the view").isEqualTo(PAYLOAD);
    }

    @Test
    void eachTensorIsKeptUntilTheResponseIsClosed() throws Exception {
        CountedStorage first = new CountedStorage();
        CountedStorage second = new CountedStorage();
        arrives(first.tensor(), second.tensor());
        Response owned = OwnedResponse.keep(view);
        assertThat(first.counts()).as("counts of the first tensor").isEqualTo(2);
        assertThat(second.counts()).as("counts of the second tensor").isEqualTo(2);
        assertThat(owned.tensors()).as("the tensors").hasSize(2);
        owned.close();
        owned.close();
        assertThat(first.counts()).as("counts of the first, closed twice").isEqualTo(1);
        assertThat(second.counts()).as("counts of the second, closed twice").isEqualTo(1);
    }

    @Test
    void countsThatWereTakenForTheKeeperAreItsOwn() throws Exception {
        CountedStorage tensor = new CountedStorage();
        arrives(tensor.tensor());
        tensor.retain();
        view.retained();
        Response owned = OwnedResponse.keep(view);
        assertThat(tensor.counts()).as("counts, with one taken before").isEqualTo(2);
        owned.close();
        assertThat(tensor.counts()).as("counts after it was closed").isEqualTo(1);
    }

    @Test
    void nothingIsKeptWhenATensorCanNotBe() throws Exception {
        CountedStorage first = new CountedStorage();
        CountedStorage second = new CountedStorage();
        CountedStorage third = new CountedStorage();
        Error planted = new StackOverflowError("planted");
        second.fail(planted);
        arrives(first.tensor(), second.tensor(), third.tensor());
        CallException failure = catchThrowableOfType(CallException.class, () -> OwnedResponse.keep(view));
        assertThat(failure).as("the failure of the call").isNotNull();
        assertThat(failure.code()).as("its code").isEqualTo(ErrorCode.DEVICE_LOST);
        assertThat(failure.messageId()).as("the id of the call").isEqualTo(ID);
        assertThat(failure).hasMessageContaining("planted").hasCause(planted);
        assertThat(first.counts()).as("counts of a tensor before it").isEqualTo(1);
        assertThat(second.counts()).as("counts of the tensor itself").isEqualTo(1);
        assertThat(third.counts()).as("counts of a tensor behind it").isEqualTo(1);
    }
}
