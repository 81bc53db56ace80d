package io.waybill.cuda;

import java.io.File;
import org.osgi.framework.BundleActivator;
import org.osgi.framework.BundleContext;

/** Activator that passes the paths of its files to {@link CudaNatives}. Loads no library. */
public final class CudaRuntimeActivator implements BundleActivator {

    @Override
    public void start(BundleContext context) {
        String directory = context.getProperty(CudaNatives.DIRECTORY_PROPERTY);
        if (directory == null) {
            File own = context.getDataFile("native"); // below the framework's cache, which no other user reads
            directory = own == null ? "" : own.getPath();
        }
        String driver = context.getProperty(CudaNatives.DRIVER_PROPERTY);
        CudaNatives.configure(directory, driver == null ? "" : driver);
    }

    @Override
    public void stop(BundleContext context) {
        // the library stays loaded until the process exits
    }
}
