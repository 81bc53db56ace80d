package io.waybill.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which addresses a server has. */
class ListenAddressTest {

    @ParameterizedTest
    @ValueSource(
            strings = {
                "0.0.0.0:9464",
                "192.0.2.1:80",
                ":80",
                "9464x",
                "127.0.0.1:70000",
                "unix:relative",
                "no.such.invalid:1"
            })
    void refusesAddressesThatOthersReach(String address) {
        assertThatThrownBy(() -> ListenAddress.parse(address))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(address);
    }

    @Test
    void isEqualIfTheSocketIs() {
        assertThat(ListenAddress.parse("9464"))
                .isEqualTo(ListenAddress.parse("127.0.0.1:9464"))
                .hasSameHashCodeAs(ListenAddress.parse("127.0.0.1:9464"))
                .hasToString("9464")
                .isNotEqualTo(ListenAddress.parse("127.0.0.1:9465"))
                .isNotEqualTo(ListenAddress.parse("[::1]:9464"));
        assertThat(ListenAddress.parse("unix:/run/a")).isEqualTo(ListenAddress.parse("unix:/run/a"));
    }
}
