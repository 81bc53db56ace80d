package io.waybill.cli.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.RejectedMessageException;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.host.Host;
import io.waybill.testing.core.RecordingOutbox;
import io.waybill.testing.core.TestMessage;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The operations that end a node and have it read its settings, from its start to its end. */
@Timeout(60)
class NodeOperationsTest {

    private final HandlerRegistry registry = new HandlerRegistry(
            ParkingSettings.DEFAULT, Host.real().threads(), Host.real().clock());
    private final NodeOperations operations = new NodeOperations(registry, "1.0.0");

    @AfterEach
    void close() {
        operations.close();
    }

    private void call(String operation) throws Exception {
        registry.table()
                .forKey(HandlerKey.parse(operation))
                .handler()
                .handle(TestMessage.of(operation, Map.of()), new RecordingOutbox());
    }

    @Test
    void sayThatTheNodeIsStarting() {
        for (String operation : List.of("control:node.stop", "control:node.reload")) {
            assertThatThrownBy(() -> call(operation))
                    .isInstanceOf(RejectedMessageException.class)
                    .hasMessageContaining("this node is starting; try again when it is ready");
        }
    }

    @Test
    void sayThatAPartOfAProgramIsNotEndedByACall() throws Exception {
        operations.started(List::of);
        assertThatThrownBy(() -> call("control:node.stop"))
                .isInstanceOf(RejectedMessageException.class)
                .hasMessageContaining("this node is not run by waybill node");

        List<NodeStop.Then> ends = new ArrayList<>();
        operations.onStop(ends::add);
        call("control:node.stop");
        assertThat(ends).containsExactly(NodeStop.Then.STAY_STOPPED);
    }
}
