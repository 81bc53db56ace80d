package io.waybill.testing.core;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class SeedsTest {

    private final String before = System.getProperty(Seeds.PROPERTY);

    @BeforeEach
    void clear() {
        System.clearProperty(Seeds.PROPERTY);
    }

    @AfterEach
    void restore() {
        if (before == null) {
            System.clearProperty(Seeds.PROPERTY);
        } else {
            System.setProperty(Seeds.PROPERTY, before);
        }
    }

    @Test
    void areThoseOfTheTestWithoutTheProperty() {
        assertThat(Seeds.one(5)).isEqualTo(5);
        assertThat(Seeds.each(1, 2)).containsExactly(1L, 2L);
        assertThat(Seeds.count(3, 2)).containsExactly(3L, 4L);
        assertThat(Seeds.fresh()).isNotEqualTo(Seeds.fresh());
    }

    @Test
    void areThePropertysAloneWithIt() {
        System.setProperty(Seeds.PROPERTY, "-9");
        assertThat(Seeds.one(5)).isEqualTo(-9);
        assertThat(Seeds.fresh()).isEqualTo(-9);
        assertThat(Seeds.each(1, 2)).containsExactly(-9L);
        assertThat(Seeds.count(3, 2)).containsExactly(-9L);
        assertThat(Seeds.option(-9)).isEqualTo("-Dwaybill.seed=-9");
    }
}
