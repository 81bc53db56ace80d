package io.waybill.cli.show;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Tensor;
import io.waybill.testing.core.BufferStorage;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 30, unit = TimeUnit.SECONDS)
class ValueTextTest {

    private static Tensor bytes(long rows, long columns) {
        ByteBuffer bytes = ByteBuffer.allocateDirect((int) (rows * columns));
        for (int i = 0; i < bytes.capacity(); i++) {
            bytes.put(i, (byte) i);
        }
        return Tensor.contiguous(DType.UINT8, new long[] {rows, columns}, new BufferStorage(bytes));
    }

    private static Tensor scalar(DType dtype, long bits) {
        ByteBuffer bytes = ByteBuffer.allocateDirect(16).order(ByteOrder.nativeOrder());
        bytes.putLong(0, bits);
        return Tensor.contiguous(dtype, new long[0], new BufferStorage(bytes));
    }

    private static String json(Value value) {
        StringWriter text = new StringWriter();
        Json.print(new PrintWriter(text, true), json -> ValueJson.write(value, json));
        return text.toString().replaceAll("\\s+", "");
    }

    @Test
    void showsValuesAsPythonDoes() {
        assertThat(ValueText.of(Value.NONE)).isEqualTo("None");
        assertThat(ValueText.of(Value.of(true))).isEqualTo("True");
        assertThat(ValueText.of(Value.list(Value.of(1), Value.of(2.5)))).isEqualTo("[1, 2.5]");
        assertThat(ValueText.of(Value.tuple(Value.of("it's")))).isEqualTo("('it\\'s',)");
        assertThat(ValueText.of(new Value.Complex(1, -2))).isEqualTo("1.0-2.0j");
        assertThat(ValueText.of(new Value.Dict(Map.of(Value.of("a"), Value.of(DType.INT8)))))
                .isEqualTo("{'a': int8}");
        assertThat(ValueText.of(Value.of(Device.CPU))).isEqualTo("cpu");
    }

    @Test
    void showsSmallTensorsWhole() {
        assertThat(ValueText.of(Value.of(bytes(2, 2)))).isEqualTo("uint8[2, 2]\n[[0, 1],\n [2, 3]]");
        assertThat(ValueText.of(Value.of(bytes(0, 3)))).isEqualTo("uint8[0, 3]\n[]");
    }

    @Test
    void showsTheEndsOfLargeTensors() {
        assertThat(ValueText.of(Value.of(bytes(100, 8))))
                .startsWith("uint8[100, 8]\n[[0, 1, 2, …, 5, 6, 7],\n [8, ")
                .contains(",\n …,\n")
                .hasLineCount(8);
    }

    private static SparseTensor sparse() {
        ByteBuffer positions = ByteBuffer.allocateDirect(16).order(ByteOrder.nativeOrder());
        positions.putLong(0, 0).putLong(8, 2);
        Tensor indices = Tensor.contiguous(DType.INT64, new long[] {1, 2}, new BufferStorage(positions));
        Tensor values =
                Tensor.contiguous(DType.UINT8, new long[] {2}, bytes(1, 2).storage());
        return new SparseTensor(indices, values, new long[] {3}, true);
    }

    @Test
    void showsSparseTensorsByTheirTwoParts() {
        assertThat(ValueText.of(Value.of(sparse())))
                .isEqualTo("sparse uint8[3] nnz=2 coalesced\nindices: int64[1, 2]\n[[0, 2]]\nvalues: uint8[2] [0, 1]");
        assertThat(json(Value.of(sparse())))
                .isEqualTo("{\"dtype\":\"uint8\",\"shape\":[3],\"device\":\"cpu\",\"layout\":\"sparse_coo\","
                        + "\"coalesced\":true,\"indices\":{\"dtype\":\"int64\",\"shape\":[1,2],\"device\":\"cpu\","
                        + "\"data\":[[0,2]]},\"values\":{\"dtype\":\"uint8\",\"shape\":[2],\"device\":\"cpu\","
                        + "\"data\":[0,1]}}");
    }

    @Test
    void showsEveryElementTypeThatHasNumbers() {
        assertThat(ValueText.tensor(scalar(DType.BOOL, 1))).isEqualTo("bool[] True");
        assertThat(ValueText.tensor(scalar(DType.INT8, 0xff))).isEqualTo("int8[] -1");
        assertThat(ValueText.tensor(scalar(DType.UINT16, 0xffff))).isEqualTo("uint16[] 65535");
        assertThat(ValueText.tensor(scalar(DType.UINT32, 0xffffffffL))).isEqualTo("uint32[] 4294967295");
        assertThat(ValueText.tensor(scalar(DType.UINT64, -1))).isEqualTo("uint64[] 18446744073709551615");
        assertThat(ValueText.tensor(scalar(DType.FLOAT16, 0x3c00))).isEqualTo("float16[] 1.0");
        assertThat(ValueText.tensor(scalar(DType.FLOAT16, 0x0001))).isEqualTo("float16[] 5.9604645E-8");
        assertThat(ValueText.tensor(scalar(DType.FLOAT16, 0xfc00))).isEqualTo("float16[] -Infinity");
        assertThat(ValueText.tensor(scalar(DType.BFLOAT16, 0x3f80))).isEqualTo("bfloat16[] 1.0");
        assertThat(ValueText.tensor(scalar(DType.COMPLEX32, 0x4000_3c00))).isEqualTo("complex32[] 1.0+2.0j");
        assertThat(ValueText.tensor(scalar(DType.FLOAT8_E5M2, 0x3c))).isEqualTo("float8_e5m2[] 0x3c");
    }

    @Test
    void letsNoControlCharactersReachATerminal() {
        assertThat(ValueText.of(Value.of("a\u001b[31mb"))).isEqualTo("'a\\\\u001b[31mb'");
    }

    @Test
    void writesJsonThatReadsBack() {
        assertThat(json(Value.of(bytes(2, 2))))
                .isEqualTo("{\"dtype\":\"uint8\",\"shape\":[2,2],\"device\":\"cpu\",\"data\":[[0,1],[2,3]]}");
        assertThat(json(Value.of(bytes(101, 100)))).doesNotContain("data");
        assertThat(json(Value.of(Double.NaN))).isEqualTo("\"NaN\"");
        assertThat(json(new Value.Complex(1, 2))).isEqualTo("{\"re\":1.0,\"im\":2.0}");
        assertThat(json(new Value.Dict(Map.of(Value.of("a"), Value.NONE)))).isEqualTo("{\"a\":null}");
        assertThat(json(new Value.Dict(Map.of(Value.of(1), Value.of(true))))).isEqualTo("[[1,true]]");
    }
}
