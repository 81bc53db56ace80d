package io.waybill.http.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.http.Page;
import io.waybill.http.WebPages;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.framework.BundleException;
import org.osgi.framework.Constants;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.launch.Framework;
import org.osgi.framework.launch.FrameworkFactory;

/** Services of a real framework, and the servers that they get. */
@Timeout(180)
class PageServersTest {

    @TempDir
    private Path directory;

    private final PageServers servers = new PageServers();
    private Framework framework;
    private int port;

    @BeforeEach
    void start() throws BundleException, IOException {
        framework = ServiceLoader.load(FrameworkFactory.class)
                .findFirst()
                .orElseThrow()
                .newFramework(Map.of(Constants.FRAMEWORK_STORAGE, directory.toString()));
        framework.init();
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
    }

    @AfterEach
    void stop() throws Exception {
        servers.end();
        framework.stop();
        framework.waitForStop(0);
    }

    private ServiceReference<WebPages> register(Object listen, Object paths, int ranking, String text) {
        Dictionary<String, Object> properties = new Hashtable<>();
        properties.put(WebPages.LISTEN, listen);
        properties.put(WebPages.PATHS, paths);
        properties.put(Constants.SERVICE_RANKING, ranking);
        WebPages pages = request -> Page.text(200, text);
        ServiceReference<WebPages> reference = framework
                .getBundleContext()
                .registerService(WebPages.class, pages, properties)
                .getReference();
        servers.add(reference, pages);
        return reference;
    }

    /** The status, and the text of a page; 0 if there is no server. */
    private String get(String path) {
        try {
            HttpURLConnection connection = (HttpURLConnection)
                    URI.create("http://127.0.0.1:" + port + path).toURL().openConnection();
            int status = connection.getResponseCode();
            return status != 200
                    ? String.valueOf(status)
                    : status + " "
                            + new String(connection.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        } catch (IOException e) {
            return "0";
        }
    }

    private static boolean hasThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .anyMatch(thread -> thread.getName().startsWith(PageServer.THREADS));
    }

    @Test
    void servicesWithAnAddressShareAServer() {
        assertThat(hasThreads()).as("threads without pages").isFalse();
        ServiceReference<WebPages> first = register("127.0.0.1:" + port, new String[] {"/a", "/b"}, 0, "first");
        ServiceReference<WebPages> second = register(String.valueOf(port), List.of("/c"), 0, "second");
        Waits.until("it serves", () -> get("/a").equals("200 first"));
        assertThat(get("/b")).isEqualTo("200 first");
        assertThat(get("/c")).isEqualTo("200 second");

        servers.remove(first);
        assertThat(get("/a")).as("pages of a stopped bundle").isEqualTo("404");
        assertThat(get("/c")).isEqualTo("200 second");

        servers.remove(second);
        assertThat(get("/c")).as("an address without pages").isEqualTo("0");
        assertThat(hasThreads()).as("threads without pages").isFalse();
    }

    @Test
    void theHigherRankingHasThePath() {
        register("127.0.0.1:" + port, "/a", 1, "one");
        ServiceReference<WebPages> higher = register("127.0.0.1:" + port, "/a", 2, "two");
        register("127.0.0.1:" + port, "/a", 0, "none");
        Waits.until("it serves", () -> get("/a").equals("200 two"));
        servers.remove(higher);
        assertThat(get("/a")).isEqualTo("200 one");
    }

    @Test
    void wrongPropertiesHaveNoServer() {
        ServiceReference<WebPages> wrong = register("0.0.0.0:" + port, "/a", 0, "all hosts");
        register(port, "/a", 0, "a number");
        register("127.0.0.1:" + port, "a", 0, "no path");
        register("127.0.0.1:" + port, List.of(), 0, "no path");
        register("127.0.0.1:" + port, List.of("/a", 1), 0, "a number");
        assertThat(hasThreads()).isFalse();
        servers.remove(wrong);
        register("127.0.0.1:" + port, "/", 0, "right");
        Waits.until("it serves", () -> get("/any/path").equals("200 right"));
    }

    @Test
    void endsAllServers() {
        register("127.0.0.1:" + port, "/a", 0, "a");
        register("unix:" + directory.resolve("a.sock"), "/a", 0, "a");
        Waits.until("it serves", () -> get("/a").equals("200 a"));
        Waits.until("it serves", () -> directory.resolve("a.sock").toFile().exists());
        servers.end();
        assertThat(get("/a")).isEqualTo("0");
        assertThat(directory.resolve("a.sock")).doesNotExist();
        assertThat(hasThreads()).isFalse();
    }
}
