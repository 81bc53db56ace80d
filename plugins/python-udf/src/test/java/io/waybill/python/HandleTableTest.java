package io.waybill.python;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.RRef;
import io.waybill.python.wire.HandleTable;
import io.waybill.python.wire.ProtocolException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Handles that a process drops while messages that may name them are decoded by other threads. */
class HandleTableTest {

    private final List<String> closed = new ArrayList<>();
    private final HandleTable table = new HandleTable();

    /** Returns a reference that can only be closed. */
    private RRef reference(String name) {
        return (RRef) Proxy.newProxyInstance(
                RRef.class.getClassLoader(), new Class<?>[] {RRef.class}, (proxy, method, arguments) -> {
                    assertThat(method.getName()).isEqualTo("close");
                    closed.add(name);
                    return null;
                });
    }

    @Test
    void stayUntilTheMessagesBeforeTheDropAreDecoded() throws Exception {
        long one = table.add(reference("one"));
        long two = table.add(reference("two"));
        table.received(7);
        table.drop(one);
        table.received(5); // from here on some message is always undecoded
        table.drop(two);
        assertThat(table.get(one)).isNotNull();
        assertThatThrownBy(() -> table.drop(one))
                .isInstanceOf(ProtocolException.class)
                .hasMessageContaining(Long.toString(one));
        table.decoded(7);
        assertThat(closed).as("no message from before its drop is left").containsExactly("one");
        assertThatThrownBy(() -> table.get(one)).isInstanceOf(ProtocolException.class);
        table.received(9);
        table.decoded(5);
        assertThat(closed).containsExactly("one", "two");
        assertThat(table.size()).isZero();
        table.decoded(9);
        table.close();
        assertThat(closed).containsExactly("one", "two");
    }

    @Test
    void areClosedOnceWhenTheProcessEndsMeanwhile() throws Exception {
        long one = table.add(reference("one"));
        table.received(1);
        table.drop(one);
        table.close();
        table.decoded(1);
        assertThat(closed).containsExactly("one");
        assertThatThrownBy(() -> table.add(reference("late"))).isInstanceOf(IllegalStateException.class);
        assertThat(closed).containsExactly("one", "late");
    }
}
