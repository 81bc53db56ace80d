package io.waybill.cli.conformance.format;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/** The fields of an object, of which only some names are known. Immutable. Every failure names the field, and what it must be. */
public final class Fields {

    private final String what;
    private final Map<String, Datum> fields;

    private Fields(String what, Map<String, Datum> fields) {
        this.what = what;
        this.fields = fields;
    }

    /**
     * The fields of an object.
     *
     * @param what it is, for texts: {@code a step}
     */
    public static Fields of(String what, Datum datum) throws FormatException {
        if (datum instanceof Datum.Record object) {
            return new Fields(what, object.fields());
        }
        throw new FormatException("expected an object for " + what + ", found " + datum.described());
    }

    /** Fails when there is a field of another name. */
    public Fields only(Set<String> known) throws FormatException {
        for (String name : fields.keySet()) {
            if (!known.contains(name)) {
                throw new FormatException(
                        what + " has no field '" + name + "'; there are " + String.join(", ", new TreeSet<>(known)));
            }
        }
        return this;
    }

    public boolean has(String name) {
        return fields.containsKey(name);
    }

    public Set<String> names() {
        return fields.keySet();
    }

    public Optional<Datum> find(String name) {
        return Optional.ofNullable(fields.get(name));
    }

    public Datum require(String name) throws FormatException {
        Datum datum = fields.get(name);
        if (datum == null) {
            throw new FormatException(what + " needs a field '" + name + "'; it has " + fields.keySet());
        }
        return datum;
    }

    public String text(String name) throws FormatException {
        Datum datum = require(name);
        if (datum instanceof Datum.Text text) {
            return text.value();
        }
        throw wrong(name, "a string", datum);
    }

    /** The text, or another one when the field is not there. */
    public String text(String name, String otherwise) throws FormatException {
        return has(name) ? text(name) : otherwise;
    }

    /** A whole number in a range, or another one when the field is not there. */
    public long whole(String name, long otherwise, long least, long most) throws FormatException {
        if (!has(name)) {
            return otherwise;
        }
        Datum datum = require(name);
        if (datum instanceof Datum.Whole whole && whole.value() >= least && whole.value() <= most) {
            return whole.value();
        }
        throw wrong(name, "a whole number from " + least + " to " + most, datum);
    }

    public double real(String name, double otherwise) throws FormatException {
        Datum datum = fields.get(name);
        if (datum == null) {
            return otherwise;
        } else if (datum instanceof Datum.Whole whole) {
            return whole.value();
        } else if (datum instanceof Datum.Real real) {
            return real.value();
        }
        throw wrong(name, "a number", datum);
    }

    public boolean truth(String name, boolean otherwise) throws FormatException {
        Datum datum = fields.get(name);
        if (datum == null) {
            return otherwise;
        } else if (datum instanceof Datum.Truth truth) {
            return truth.value();
        }
        throw wrong(name, "true or false", datum);
    }

    /** The elements of an array; none when the field is not there. */
    public List<Datum> row(String name) throws FormatException {
        Datum datum = fields.get(name);
        if (datum == null) {
            return List.of();
        } else if (datum instanceof Datum.Row row) {
            return row.values();
        }
        throw wrong(name, "an array", datum);
    }

    /** The strings of an array; none when the field is not there. */
    public List<String> texts(String name) throws FormatException {
        List<String> texts = new ArrayList<>();
        for (Datum datum : row(name)) {
            if (!(datum instanceof Datum.Text text)) {
                throw wrong(name, "an array of strings", datum);
            }
            texts.add(text.value());
        }
        return texts;
    }

    /** The fields of an object in a field; none when the field is not there. */
    public Map<String, Datum> object(String name) throws FormatException {
        Datum datum = fields.get(name);
        if (datum == null) {
            return Map.of();
        } else if (datum instanceof Datum.Record object) {
            return new LinkedHashMap<>(object.fields());
        }
        throw wrong(name, "an object", datum);
    }

    private FormatException wrong(String name, String expected, Datum found) {
        return new FormatException(
                what + ": the field '" + name + "' must be " + expected + ", not " + found.described());
    }
}
