package io.waybill.distribution;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The index of the search: the pages, their sections, and for each word the sections that have it, as the gaps between their numbers. It is a script
 * that calls {@code bookIndex}: a page that was opened as a file may load scripts, and nothing else.
 */
final class BookIndex {

    private final List<BookPage> pages;
    private final StringWriter script = new StringWriter();
    private final Map<String, List<Integer>> sectionsOfWords = new TreeMap<>();

    /** Takes the pages of the book. */
    BookIndex(List<BookPage> pages) {
        this.pages = pages;
    }

    /** Returns the script. Of the pages, as many as the contents list come first; the search prefers them. */
    String script(int listed) throws IOException {
        script.append("bookIndex(");
        try (JsonGenerator json = new JsonFactory().createGenerator(script)) {
            json.writeStartObject();
            json.writeNumberField("listed", listed);
            pages(json);
            sections(json);
            words(json);
            json.writeEndObject();
        }
        return script.append(");\n").toString();
    }

    private void pages(JsonGenerator json) throws IOException {
        json.writeArrayFieldStart("pages");
        for (BookPage page : pages) {
            String[] fields = {BookPage.place(page.file()).toString(), page.title()};
            json.writeArray(fields, 0, fields.length);
        }
        json.writeEndArray();
    }

    private void sections(JsonGenerator json) throws IOException {
        json.writeArrayFieldStart("sections");
        int number = 0;
        for (int page = 0; page < pages.size(); page++) {
            for (BookSection section : pages.get(page).sections()) {
                json.writeStartArray();
                json.writeNumber(page);
                json.writeString(section.anchor());
                json.writeString(section.title());
                json.writeEndArray();
                for (String word : section.words()) {
                    sectionsOfWords
                            .computeIfAbsent(word, none -> new ArrayList<>())
                            .add(number);
                }
                number++;
            }
        }
        json.writeEndArray();
    }

    private void words(JsonGenerator json) throws IOException {
        json.writeObjectFieldStart("words");
        for (Map.Entry<String, List<Integer>> word : sectionsOfWords.entrySet()) {
            json.writeArrayFieldStart(word.getKey());
            int previous = 0;
            for (int section : word.getValue()) {
                json.writeNumber(section - previous);
                previous = section;
            }
            json.writeEndArray();
        }
        json.writeEndObject();
    }
}
