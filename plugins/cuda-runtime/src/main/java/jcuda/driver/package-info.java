/** JCuda's package of the driver API, with {@link jcuda.driver.SharedMemory} beside its classes. */
package jcuda.driver;
