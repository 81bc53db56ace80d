/** JCuda's package of the driver API, with the additional class {@link jcuda.driver.SharedMemory}. */
package jcuda.driver;
