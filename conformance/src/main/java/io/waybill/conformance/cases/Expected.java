package io.waybill.conformance.cases;

import com.fasterxml.jackson.databind.JsonNode;
import io.waybill.api.tensor.DType;
import java.util.List;
import java.util.Map;

/** The demands on a step's result; null and empty fields demand nothing. */
public record Expected(
        JsonNode value,
        Margin tolerance,
        String type,
        DType dtype,
        JsonNode shape,
        JsonNode strides,
        Long offset,
        Long storageElements,
        Boolean requiresGrad,
        Boolean contiguous,
        JsonNode dense,
        Boolean coalesced,
        Long nnz,
        Expected[] items,
        List<int[]> shares,
        ExpectedError error,
        Map<String, JsonNode> counters) {

    /**
     * Tolerance of numbers: {@code absolute + relative * |expected|}.
     *
     * @param absolute 0 or more
     * @param relative 0 or more
     */
    public record Margin(double absolute, double relative) {

        /** Bit by bit, except for the sign of zero; NaN equals NaN. */
        public static final Margin EXACT = new Margin(0, 0);

        /** Returns whether a number is close enough to the expected one. */
        public boolean allows(double expected, double found) {
            return expected == found
                    || Double.isNaN(expected) && Double.isNaN(found)
                    || Math.abs(expected - found) <= absolute + relative * Math.abs(expected);
        }
    }

    /**
     * The demands on an error; null fields demand nothing, except {@code node}.
     *
     * @param node ids of the workers that the text names in front; null for none
     * @param text the whole of it
     * @param contains a part of the text
     * @param matches a regular expression that the text contains a match of
     */
    public record ExpectedError(
            String kind, String code, String type, JsonNode node, String text, String contains, String matches) {}
}
