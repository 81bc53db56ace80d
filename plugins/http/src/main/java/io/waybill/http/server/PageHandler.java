package io.waybill.http.server;

import io.waybill.http.Page;
import io.waybill.http.PageRequest;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.Promise;

/**
 * Jetty's handler of all requests to one address: checks a request, reads its body, and asks the pages with the longest
 * path.
 *
 * <p><b>Threads.</b> The server's. None of them waits for a client.
 */
final class PageHandler extends Handler.Abstract {

    private static final Logger LOG = System.getLogger(PageHandler.class.getName());
    private static final Pattern LOOPBACK = Pattern.compile("(localhost|127(\\.\\d{1,3}){3}|\\[::1])(:\\d*)?");

    private final Supplier<List<HostedPages>> all;

    /** @param all the present pages; of two with a path, the first has it */
    PageHandler(Supplier<List<HostedPages>> all) {
        this.all = all;
    }

    @Override
    public boolean handle(Request request, Response response, Callback callback) {
        String path = String.valueOf(Request.getPathInContext(request)); // CONNECT has none
        String host = request.getHeaders().get(HttpHeader.HOST);
        String origin = request.getHeaders().get(HttpHeader.ORIGIN);
        HostedPages pages = pages(path);
        if (host != null && !LOOPBACK.matcher(host.toLowerCase(Locale.ROOT)).matches()) {
            write(response, callback, misdirected("the host is localhost, 127.0.0.1 or [::1]", "Host", host));
        } else if (pages == null) {
            write(response, callback, missing(path));
        } else if (!pages.methods().contains(request.getMethod())) {
            response.getHeaders().put(HttpHeader.ALLOW, String.join(", ", pages.methods()));
            write(
                    response,
                    callback,
                    Page.text(405, path + " has " + pages.methods() + ", found " + request.getMethod()));
        } else if (origin != null && host != null && !origin.equals("http://" + host)) {
            write(
                    response,
                    callback,
                    misdirected("only pages of http://" + host + " may refer to it", "Origin", origin));
        } else if (request.getLength() == 0) {
            respond(pages, request, new byte[0], response, callback);
        } else {
            readAndRespond(pages, request, response, callback);
        }
        return true;
    }

    private HostedPages pages(String path) {
        HostedPages best = null;
        for (HostedPages each : all.get()) {
            if (each.match(path) > (best == null ? -1 : best.match(path))) {
                best = each;
            }
        }
        return best;
    }

    private Page missing(String path) {
        TreeSet<String> paths = new TreeSet<>();
        all.get().forEach(each -> paths.addAll(each.paths()));
        return Page.text(404, "no page is at " + path + ": there are " + String.join(", ", paths));
    }

    /** Keeps out pages of others that a browser loaded: by DNS rebinding, or in a form or script. */
    private static Page misdirected(String expected, String header, String found) {
        return Page.text(header.equals("Host") ? 421 : 403, expected + ", found " + header + ": " + found);
    }

    private void readAndRespond(HostedPages pages, Request request, Response response, Callback callback) {
        if (request.getLength() > PageRequest.MAX_BODY_BYTES) {
            write(response, callback, tooLarge());
            return;
        }
        Content.Source.asByteArrayAsync(
                request,
                PageRequest.MAX_BODY_BYTES,
                Promise.Invocable.from(InvocationType.BLOCKING, (body, failure) -> {
                    if (failure == null) {
                        respond(pages, request, body, response, callback);
                    } else if (failure instanceof IllegalStateException) { // beyond the limit
                        write(response, callback, tooLarge());
                    } else {
                        callback.failed(failure); // the client has disconnected
                    }
                }));
    }

    private void respond(HostedPages pages, Request request, byte[] body, Response response, Callback callback) {
        Runnable call = () -> {
            if (!request.getConnectionMetaData().getConnection().getEndPoint().isOpen()) {
                callback.failed(new ClosedChannelException()); // it waited for too long
                return;
            }
            try {
                write(response, callback, page(pages, request, body));
            } catch (Throwable e) { // pages of a bundle throw anything, and have headers that are none
                LOG.log(
                        Level.WARNING,
                        "A page of {0} could not be made: {1}: {2}",
                        pages.owner(),
                        Request.getPathInContext(request),
                        described(e));
                if (response.isCommitted()) {
                    callback.failed(e);
                } else {
                    response.reset();
                    write(response, callback, Page.text(500, "the page can't be made; the node's log says why"));
                }
            }
        };
        if (!pages.run(call)) {
            write(
                    response,
                    callback,
                    pages.isClosed()
                            ? missing(Request.getPathInContext(request))
                            : Page.text(503, "too many requests wait for pages of " + pages.owner()));
        }
    }

    private static String described(Throwable thrown) {
        try {
            return thrown.toString();
        } catch (Throwable e) { // the class is foreign
            return thrown.getClass().getName();
        }
    }

    private Page page(HostedPages pages, Request request, byte[] body) throws Exception {
        String path = Request.getPathInContext(request);
        String query = request.getHttpURI().getQuery();
        Page page = pages.respond(
                new PageRequest(request.getMethod(), path, query == null ? "" : query, headers(request), body));
        return page == null ? missing(path) : page;
    }

    private static Page tooLarge() {
        return Page.text(413, "a body has at most " + PageRequest.MAX_BODY_BYTES + " bytes");
    }

    private static Map<String, String> headers(Request request) {
        Map<String, String> headers = new TreeMap<>();
        for (HttpField field : request.getHeaders()) {
            headers.merge(field.getLowerCaseName(), field.getValue(), (first, next) -> first + ", " + next);
        }
        return headers;
    }

    static void write(Response response, Callback callback, Page page) {
        response.setStatus(page.status());
        page.headers().forEach(response.getHeaders()::put);
        response.getHeaders().put(HttpHeader.CONTENT_TYPE, page.type());
        response.getHeaders().put(HttpHeader.CONTENT_LENGTH, page.body().length);
        response.getHeaders().put("X-Content-Type-Options", "nosniff");
        response.write(true, ByteBuffer.wrap(page.body()), callback);
    }
}
