package io.waybill.autograd.graph;

import io.waybill.torch.LibTorch;
import java.nio.file.Path;
import org.bytedeco.javacpp.PointerScope;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Loads libtorch, and gives each test a scope that frees its native objects. */
final class LibTorchLoaded implements BeforeAllCallback, BeforeEachCallback, AfterEachCallback {

    private PointerScope scope;

    @Override
    public void beforeAll(ExtensionContext context) {
        new LibTorch(Path.of(System.getProperty(LibTorch.NATIVES_PROPERTY)), 1).load();
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        scope = new PointerScope();
    }

    @Override
    public void afterEach(ExtensionContext context) {
        scope.close();
    }
}
